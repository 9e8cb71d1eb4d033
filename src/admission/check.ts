export type CheckKind = 'probe' | 'none' | 'http' | 'https' | 'tcp' | 'grpc' | 'unix' | 'file' | 'exec' | 'hook'

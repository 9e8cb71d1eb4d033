import express from 'express'
import { offered } from '../../src/preview/failure.ts'

/** What a client with this header wants, as the server finds it out. */
export function wanted(accept?: string) {
  const headers = accept === undefined ? {} : { accept }
  const best = Object.assign(Object.create(express.request), { headers }).accepts([...offered])
  return offered.find((each) => each === best)
}

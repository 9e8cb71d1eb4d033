// Property tests try other values at each run; CI tries the same ones, so that a change is judged by what it changes.
import fc from 'fast-check'

if (process.env.CI) fc.configureGlobal({ seed: 20_261_121 })

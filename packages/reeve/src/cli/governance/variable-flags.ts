import type { FlagSpec } from '../command.ts'

// These flags are separate from the commands so that help does not load the contract.

export const SET_FLAGS: readonly FlagSpec[] = [
  { usage: '--env', help: 'environment variables instead of input variables' },
  { usage: '--hcl', help: 'the values are expressions, not text' },
  { usage: '--sensitive', help: 'store the values encrypted and never show them again' },
  { usage: '--description <TEXT>', help: 'description' },
]

export const UNSET_FLAGS: readonly FlagSpec[] = [
  { usage: '--env', help: 'environment variables instead of input variables' },
]

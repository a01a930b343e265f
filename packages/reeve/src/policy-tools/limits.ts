/** A policy that passes its tests has enough steps on the server, too. */
export { POLICY_STEPS_MAX as STEPS_MAX } from '../policy/index.ts'

/** Bytes of one policy, module, mock or document that a command reads. */
export const FILE_BYTES_MAX = 64 * 1024 * 1024

/** Files that one command reads from directories. */
export const FILES_MAX = 10_000

/** Directories inside one another that a command looks into for `*.rego`. */
export const FOLDER_DEPTH_MAX = 16

/** Characters of a value that is printed for people. */
export const SHOWN_MAX = 2_000

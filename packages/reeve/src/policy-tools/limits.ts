/** The step limit of the server, so that a policy that passes its tests has enough steps there. */
export { POLICY_STEPS_MAX as STEPS_MAX } from '../policy/index.ts'

/** Maximum size of a policy, module, mock or document. */
export const FILE_BYTES_MAX = 64 * 1024 * 1024

/** Maximum number of files that one command reads from directories. */
export const FILES_MAX = 10_000

/** Maximum depth of the search for `*.rego` files. */
export const FOLDER_DEPTH_MAX = 16

/** Maximum length of a printed value. */
export const SHOWN_MAX = 2_000

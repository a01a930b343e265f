/** Bytes of one policy, module, mock or document that a command reads. */
export const FILE_BYTES_MAX = 64 * 1024 * 1024

/** Files that one command reads from directories. */
export const FILES_MAX = 10_000

/** Directories inside one another that a command looks into for `*.rego`. */
export const FOLDER_DEPTH_MAX = 16

/** Steps of one evaluation, as on the server. */
export const STEPS_MAX = 50_000_000

/** Characters of a value that is printed for people. */
export const SHOWN_MAX = 2_000

import { join } from 'node:path'

/**
 * Starts the program as a person does: from the bundle, or from the sources where one of them is
 * newer. Never an old one, so a test may start it at any time.
 */
export const PROGRAM = join(import.meta.dirname, '../../../../tools/start.cjs')

/** The same as words of a shell. */
export const PROGRAM_COMMAND = `'${process.execPath}' '${PROGRAM}'`

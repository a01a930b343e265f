import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../../..')

/**
 * The program that tests start: the build that `npm test` has just made, else the sources. A build
 * of earlier is never used, so a test by itself runs what was last written.
 */
export const PROGRAM =
  process.env['REEVE_TEST_PROGRAM'] ?? join(ROOT, 'packages/reeve/src/main/reeve.ts')

/** The same as words of a shell. */
export const PROGRAM_COMMAND = `'${process.execPath}' '${PROGRAM}'`

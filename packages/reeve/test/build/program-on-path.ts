import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PROGRAM_COMMAND } from './program.ts'

/** A folder for PATH with a `reeve` that, unlike bin/reeve, does not build first. */
export async function programOnPath(directory: string): Promise<string> {
  const folder = join(directory, 'program')
  await mkdir(folder)
  const script = `#!/bin/sh\nexec ${PROGRAM_COMMAND} "$@"\n`
  await writeFile(join(folder, 'reeve'), script)
  await chmod(join(folder, 'reeve'), 0o755)
  return folder
}

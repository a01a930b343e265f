import { readFile } from 'node:fs/promises'
import { writeSecret } from '../server-secrets.ts'

/** Reads or creates the secret that servers and nodes share; it persists with the directory. */
export async function readOrCreateKey(path: string, make: () => Buffer): Promise<string> {
  const known = await readFile(path, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
  if (known !== undefined) return known.trim()
  const made = make().toString('base64url')
  await writeSecret(path, `${made}\n`)
  return made
}

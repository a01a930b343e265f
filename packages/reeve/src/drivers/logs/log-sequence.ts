import { constants } from 'node:fs'
import { open, readdir, type FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { isMissing } from '../../agent/index.ts'

/** The numbers of the files `<prefix>.<n>` that exist, smallest first. */
export async function listLogNumbers(prefix: string): Promise<readonly number[]> {
  const filePrefix = `${basename(prefix)}.`
  const names = await readdir(dirname(prefix)).catch((thrown: unknown) => {
    if (isMissing(thrown)) return []
    throw thrown
  })
  return names
    .filter(
      (name) =>
        name.startsWith(filePrefix) && /^(0|[1-9]\d{0,8})$/.test(name.slice(filePrefix.length)),
    )
    .map((name) => Number(name.slice(filePrefix.length)))
    .toSorted((a, b) => a - b)
}

/** Opens one file of the sequence for appending. A link in its place is not followed. */
export async function openLogFile(prefix: string, number: number): Promise<FileHandle> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK
  const file = await open(`${prefix}.${number}`, flags, 0o640)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new Error(`${prefix}.${number} is not a file`)
}

import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Atomically replaces a small file; durable when it resolves. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const handle = await open(`${path}.tmp`, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${path}.tmp`, path)
  await fsyncDirectory(dirname(path))
}

/**
 * Makes the entries of a directory durable, which an fsync of a file does not guarantee for its
 * name.
 */
export async function fsyncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

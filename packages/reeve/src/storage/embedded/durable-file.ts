import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Replaces a small file, all or nothing, also across a power cut. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const handle = await open(`${path}.tmp`, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${path}.tmp`, path)
  await syncFolder(dirname(path))
}

/** Makes the names in a folder durable: syncing a file does not promise that for its name. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

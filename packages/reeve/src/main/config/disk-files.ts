import { open, readdir, stat } from 'node:fs/promises'
import type { ConfigFileSystem } from './config-files.ts'

export const diskFiles: ConfigFileSystem = {
  isDirectory: async (path) => (await stat(path)).isDirectory(),
  list: (path) => readdir(path),
  async read(path, bytesMax) {
    const file = await open(path, 'r')
    try {
      const buffer = Buffer.alloc(bytesMax)
      let length = 0
      // A pipe (`--config <(…)`) has no size and returns its bytes in parts.
      while (length < bytesMax) {
        const { bytesRead } = await file.read(buffer, length, bytesMax - length)
        if (bytesRead === 0) break
        length += bytesRead
      }
      return buffer.subarray(0, length)
    } finally {
      await file.close()
    }
  },
}

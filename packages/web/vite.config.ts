import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** Smaller files fit one packet as they are. */
const COMPRESS_BYTES_MIN = 1_400

/** Compresses once, here, what the server would otherwise compress for every visitor. */
function compressFiles(): Plugin {
  return {
    name: 'reeve-compress',
    apply: 'build',
    writeBundle: ({ dir = '' }) => {
      for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true })) {
        if (!entry.isFile() || !/\.(?:js|css|html|svg)$/.test(entry.name)) continue
        const file = join(entry.parentPath, entry.name)
        const bytes = readFileSync(file)
        if (bytes.length < COMPRESS_BYTES_MIN) continue
        const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } }
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, quality))
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
      }
    },
  }
}

export default defineConfig({
  root: import.meta.dirname,
  base: '/ui/',
  plugins: [react(), compressFiles()],
  build: {
    // The set-up builds into a folder of its own and puts it in place when it is complete.
    outDir: 'dist',
    assetsDir: 'assets',
    sourcemap: false,
    target: 'es2023',
    reportCompressedSize: false,
    // No data: the policy of the pages lets nothing in that is not a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/v1': 'http://127.0.0.1:4646', '/api': 'http://127.0.0.1:4646' } },
})

/**
 * The program of a release: one folder of modules with every package in it, so that an installation
 * has no `node_modules`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown, type Plugin } from 'rolldown'
import { escapeModules, contentHash, shortenMaps } from '../build/bundle.ts'
import { createSourcePlugin, entryModuleId } from '../build/own-sources.ts'
import { SOURCE } from '../build/paths.ts'
import * as fs from 'node:fs'
import type { ReleaseStamp } from './stamp.ts'
import { cacheText, stampText } from './stamp.ts'

/** Writes `<folder>/<hash>/reeve.js` and what it imports; returns the hash. */
export async function bundleRelease(
  root: string,
  folder: string,
  stamp: ReleaseStamp,
): Promise<string> {
  const draft = join(folder, 'draft')
  const bundle = await rolldown({
    cwd: root,
    input: { reeve: entryModuleId(SOURCE) },
    platform: 'node',
    external: (id) => id.startsWith('node:') || OPTIONAL.has(id),
    plugins: [
      createSourcePlugin(root, { stamp: stampText(stamp), cache: cacheText() }),
      nativeBinding(root, stamp.target),
    ],
    logLevel: 'warn',
    treeshake: { moduleSideEffects: true },
  })
  await bundle.write({
    dir: draft,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    assetFileNames: '[name]-[hash][extname]',
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: false,
  })
  await bundle.close()
  shortenMaps(draft)
  escapeModules(draft)
  const name = contentHash(draft)
  fs.renameSync(draft, join(folder, name))
  return name
}

/** Faster variants of packages, which these use where they are installed. We install none. */
const OPTIONAL = new Set(['bufferutil', 'utf-8-validate', 'pg-native', 'pg-cloudflare'])

/** classic-level looks for its prebuilt binding in a folder of packages; here it is an asset. */
function nativeBinding(root: string, { platform, arch }: ReleaseStamp['target']): Plugin {
  return {
    name: 'native-binding',
    load: {
      filter: { id: /\/classic-level\/binding\.js$/ },
      handler() {
        const file = join(root, 'node_modules/classic-level/prebuilds', `${platform}-${arch}`)
        const name = fs.readdirSync(file).find((one) => !one.includes('musl'))
        if (name === undefined) throw new Error(`${file} holds no binding for glibc`)
        const source = readFileSync(join(file, name))
        const asset = this.emitFile({ type: 'asset', name: 'classic-level.node', source })
        return {
          moduleType: 'js',
          code: `import { fileURLToPath } from 'node:url'
const module = { exports: {} }
process.dlopen(module, fileURLToPath(new URL(import.meta.ROLLUP_FILE_URL_${asset})))
const binding = module.exports
export { binding as 'module.exports' }
`,
        }
      },
    },
  }
}

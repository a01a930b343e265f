import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from 'rolldown'

/** The one source that may ask where it lies. */
const PRODUCT_ROOT = 'packages/reeve/src/main/product-root.ts'

/**
 * Plain data that takes a while to make, from sources that are all bundled too: the bundle holds
 * what it comes to.
 */
const MADE_BEFORE = 'packages/sdk/src/called-routes.ts'

/** Before the file with which a thread or a process begins. */
const START = 'start:'

/** A module that is started instead of imported. */
const STARTED = /new URL\('(\.{1,2}\/[^']+\.ts)', import\.meta\.url\)/g

/** Reads our own sources for the bundler. */
export function ownSources(root: string): Plugin {
  return {
    name: 'own-sources',
    resolveId: { filter: { id: /^start:/ }, handler: (id) => id },
    load: {
      filter: { id: [/^start:/, /\/packages\/[\w-]+\/(?:src|node)\/.+\.ts$/] },
      handler(id) {
        if (id.startsWith(START)) return startText(id.slice(START.length))
        const name = relative(root, id)
        if (name === MADE_BEFORE) return valuesText(id)
        return withStarts(readFileSync(id, 'utf8'), {
          name,
          emit: (specifier) => {
            const file = resolve(id, '..', specifier)
            return this.emitFile({ type: 'chunk', id: startOf(file), name: basename(file, '.ts') })
          },
        })
      },
    },
  }
}

/** The id of a module that begins a thread or a process with this file. */
export function startOf(file: string): string {
  return `${START}${file}`
}

/**
 * What a thread or a process does first, because it holds only for modules that are loaded later:
 * stacks name the sources, and compiled code is kept, which no thread takes over from another.
 */
function startText(file: string): string {
  return `import { enableCompileCache, setSourceMapsSupport } from 'node:module'
import { join } from 'node:path'
enableCompileCache(join(import.meta.dirname, '../../../../node_modules/.cache/reeve'))
setSourceMapsSupport(true)
await import(${JSON.stringify(file)})
`
}

/** The values of a module as another module; made by a process, which knows no older sources. */
function valuesText(file: string): string {
  const program = `import * as values from ${JSON.stringify(pathToFileURL(file).href)}
process.stdout.write(JSON.stringify(values))`
  const made = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    maxBuffer: VALUES_BYTES_MAX,
  })
  const values: Readonly<Record<string, unknown>> = JSON.parse(made)
  // Text that is parsed as data is read faster than the same as a program.
  const lines = Object.entries(values).map(([name, value]) => {
    const text = JSON.stringify(JSON.stringify(value))
    return `export const ${name} = JSON.parse(${text})\n`
  })
  return lines.join('')
}

const VALUES_BYTES_MAX = 16 * 1024 * 1024

interface Started {
  readonly name: string
  /** Adds the module to the bundle and gives the name by which the bundler knows it. */
  readonly emit: (specifier: string) => string
}

/** The text with the addresses of modules in the bundle for those of sources. */
function withStarts(text: string, { name, emit }: Started): string {
  const code = text.replaceAll(
    STARTED,
    (_whole, specifier: string) => `new URL(import.meta.ROLLUP_FILE_URL_${emit(specifier)})`,
  )
  if (name !== PRODUCT_ROOT && /\bimport\.meta\.(?!ROLLUP_FILE_URL_)/.test(code))
    throw new Error(
      `${name} asks where it lies, which is elsewhere in a bundle: name files from PRODUCT_ROOT, ` +
        "and modules to start by new URL('./a.ts', import.meta.url).",
    )
  return code
}

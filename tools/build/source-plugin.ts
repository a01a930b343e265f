import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from 'rolldown'

/** The only source that may use its own path. */
const INSTALLATION = 'packages/reeve/src/main/installation.ts'

/** Source that a release replaces. */
const STAMP = 'packages/reeve/src/main/build-stamp.ts'

/**
 * Module that is evaluated at build time: the bundle contains its exported values as JSON, because
 * computing them at startup is slow.
 */
const MADE_BEFORE = 'packages/sdk/src/called-routes.ts'

/**
 * Importing `node:process` reads every property of the process, which takes 6 ms of each command;
 * the global is the same object.
 */
const COMMANDER = /\/node_modules\/commander\/lib\/command\.js$/
const PROCESS_IMPORT = "import process from 'node:process';"

/** Prefix of IDs of entry modules of threads and processes. */
const START = 'start:'

/** A module that is started instead of imported. */
const STARTED = /new URL\('(\.{1,2}\/[^']+\.ts)', import\.meta\.url\)/g

/** Replacements for texts of the checkout in a release. */
export interface ReleaseTexts {
  /** The text of build-stamp.ts. */
  readonly stamp: string
  /** Enables the compile cache; the first lines of each thread and process. */
  readonly cache: string
}

const CHECKOUT_CACHE = `import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
enableCompileCache(join(import.meta.dirname, '../../../../node_modules/.cache/reeve'))
`

/** Bundler plugin that loads the sources of this repository. */
export function createSourcePlugin(root: string, release?: ReleaseTexts): Plugin {
  return {
    name: 'own-sources',
    resolveId: { filter: { id: /^start:/ }, handler: (id) => id },
    load: {
      filter: { id: [/^start:/, /\/packages\/[\w-]+\/(?:src|node)\/.+\.ts$/, COMMANDER] },
      handler(id) {
        if (COMMANDER.test(id)) return readFileSync(id, 'utf8').replace(PROCESS_IMPORT, '')
        if (id.startsWith(START))
          return entryPrologue(join(root, id.slice(START.length)), release?.cache ?? CHECKOUT_CACHE)
        const name = relative(root, id)
        if (name === STAMP && release !== undefined) return release.stamp
        if (name === MADE_BEFORE) return precomputedModule(id)
        return replaceEntryUrls(readFileSync(id, 'utf8'), {
          name,
          emit: (specifier) => {
            const file = resolve(id, '..', specifier)
            const start = entryModuleId(relative(root, file))
            return this.emitFile({ type: 'chunk', id: start, name: basename(file, '.ts') })
          },
        })
      },
    },
  }
}

/**
 * The id of a module that begins a thread or a process with this file, named from the root: the
 * bundle holds the id, and must not depend on where the checkout is.
 */
export function entryModuleId(file: string): string {
  return `${START}${file}`
}

/**
 * The first statements of each thread and process, because they affect only modules that are loaded
 * later: source maps for stack traces, and the compile cache, which threads do not inherit.
 */
function entryPrologue(file: string, cache: string): string {
  return `${cache}import { setSourceMapsSupport } from 'node:module'
setSourceMapsSupport(true)
await import(${JSON.stringify(file)})
`
}

/** Evaluates a module in a new process and returns a module with its values. */
function precomputedModule(file: string): string {
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

interface EntryModule {
  readonly name: string
  /** Adds the module to the bundle and gives the name by which the bundler knows it. */
  readonly emit: (specifier: string) => string
}

/** The text with the addresses of modules in the bundle for those of sources. */
function replaceEntryUrls(text: string, { name, emit }: EntryModule): string {
  const code = text.replaceAll(
    STARTED,
    (_whole, specifier: string) => `new URL(import.meta.ROLLUP_FILE_URL_${emit(specifier)})`,
  )
  if (name !== INSTALLATION && /\bimport\.meta\.(?!ROLLUP_FILE_URL_)/.test(code))
    throw new Error(
      `${name} asks where it lies, which is elsewhere in a bundle: name files from the installation, ` +
        "and modules to start by new URL('./a.ts', import.meta.url).",
    )
  return code
}

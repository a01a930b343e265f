/** Files of the build machine that are part of a release: runtime, helper and library. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { basename, join } from 'node:path'

/** Programs without which the bytes of a release would be others. */
const TOOLS = {
  'musl-gcc': 'musl-tools',
  strip: 'binutils',
  readelf: 'binutils',
  patchelf: 'patchelf',
  xz: 'xz-utils',
} as const

/** A sentence for everything that is missing; a release is not built with something else. */
export function missingTools(): string[] {
  return Object.entries(TOOLS)
    .filter(([tool]) => spawnSync(tool, ['--version']).error !== undefined)
    .map(([tool, deb]) => `${tool} is missing (Debian: apt-get install ${deb}).`)
}

/** The runtime without symbols, and with a path to the one library that minimal systems lack. */
export function prepareRuntime(root: string, folder: string): void {
  const node = join(folder, 'node')
  fs.mkdirSync(folder, { recursive: true })
  fs.copyFileSync(join(root, 'node_modules/node/bin/node'), node)
  fs.chmodSync(node, 0o755)
  execFileSync('strip', ['--strip-all', node])
  execFileSync('patchelf', ['--set-rpath', '$ORIGIN', node])
  fs.copyFileSync(findLibrary('libatomic.so.1'), join(folder, 'libatomic.so.1'))
}

const LIBRARY_FOLDERS = [
  '/usr/lib/x86_64-linux-gnu',
  '/lib/x86_64-linux-gnu',
  '/usr/lib64',
  '/lib64',
]

export function findLibrary(name: string): string {
  const found = LIBRARY_FOLDERS.map((folder) => join(folder, name)).find((file) =>
    fs.existsSync(file),
  )
  if (found === undefined)
    throw new Error(`${name} was not found in ${LIBRARY_FOLDERS.join(', ')}.`)
  return fs.realpathSync(found)
}

const SOURCES = 'packages/reeve/native/src'
const FLAGS = [
  '-std=c11',
  '-D_GNU_SOURCE',
  '-fno-strict-overflow',
  '-fstack-protector-strong',
  '-O2',
  '-static',
  '-s',
  '-Wl,--build-id=none',
  '-idirafter',
  '/usr/include',
  '-idirafter',
  '/usr/include/x86_64-linux-gnu',
]

/** Builds the static task helper and returns its name, which holds the hash of its content. */
export function buildHelper(root: string, folder: string): string {
  const sources = fs.readdirSync(join(root, SOURCES)).filter((file) => file.endsWith('.c'))
  const files = sources.toSorted().map((file) => join(SOURCES, file))
  fs.mkdirSync(folder, { recursive: true })
  const draft = join(folder, 'draft')
  execFileSync('musl-gcc', [...FLAGS, ...files, '-o', draft], { cwd: root })
  const dynamic = execFileSync('readelf', ['-d', draft], { encoding: 'utf8' })
  if (!dynamic.includes('There is no dynamic section'))
    throw new Error('The task helper is not static: musl-gcc is not what it should be.')
  const hash = createHash('sha256').update(fs.readFileSync(draft)).digest('hex').slice(0, 16)
  const name = `reeve-task-${hash}`
  fs.renameSync(draft, join(folder, name))
  fs.chmodSync(join(folder, name), 0o755)
  return basename(name)
}

/** The version of a Debian package on this machine, for the list of parts. */
export function packageVersion(name: string): string {
  const { stdout, status } = spawnSync('dpkg-query', ['-W', '-f=${Version}', name], {
    encoding: 'utf8',
  })
  return status === 0 ? stdout : 'unknown'
}

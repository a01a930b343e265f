/** Checks 1 to 10: the files of a release. */
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { COMMAND_FLAGS, RUNTIME_FLAGS } from '../cache.ts'
import { run } from '../opened.ts'
import { installedFiles, MEGABYTE, skipped, passIf, type Check } from './check.ts'

export const build: readonly Check[] = [
  {
    number: 1,
    title: 'two builds have the same SHA-256',
    run: ({ folder }) => {
      const other = process.env['REEVE_OTHER_BUILD']
      if (other === undefined)
        return skipped(
          'build the same commit in another directory and name it in REEVE_OTHER_BUILD',
        )
      const [a, b] = [folder, other].map((one) => fs.readFileSync(join(one, 'SHA256SUMS'), 'utf8'))
      return passIf(a === b, `${folder} and ${other}`)
    },
  },
  {
    number: 2,
    title: 'no path of the build machine in any file',
    run: (release) => {
      const root = Buffer.from(`${process.cwd()}/`)
      const found = installedFiles(release).filter(({ data }) => data.includes(root))
      return passIf(found.length === 0, found.map(({ path }) => path).join(', ') || 'none')
    },
  },
  {
    number: 3,
    title: 'no large file besides the runtime, modules and web UI',
    run: (release) => {
      const large = installedFiles(release).filter(({ data }) => data.length > MEGABYTE)
      const odd = large.filter(({ path }) => !/^(?:lib\/node$|program\/|web\/)/.test(path))
      return passIf(odd.length === 0, odd.map(({ path }) => path).join(', ') || 'none')
    },
  },
  {
    number: 4,
    title: 'the tarball has at most 45 MB',
    run: (release) => {
      const { size } = fs.statSync(release.file('.tar.xz'))
      return passIf(size <= 45 * MEGABYTE, `${(size / MEGABYTE).toFixed(1)} MB`)
    },
  },
  {
    number: 5,
    title: 'the task helper is static and small',
    run: (release) => {
      const [name = ''] = fs.readdirSync(join(release.installation, 'libexec'))
      const file = join(release.installation, 'libexec', name)
      const isStatic = run('readelf', ['-d', file]).includes('no dynamic section')
      const { size } = fs.statSync(file)
      return passIf(isStatic && size <= 250_000, `${name}, ${size} bytes`)
    },
  },
  {
    number: 6,
    title: 'the runtime needs the allowed libraries and GLIBC_2.28 at most',
    run: ({ installation }) => {
      const said = run('readelf', [
        '-d',
        '--version-info',
        '--wide',
        join(installation, 'lib/node'),
      ])
      const libraries = [...said.matchAll(/NEEDED.*\[(.+)\]/g)].map(([, name = '']) => name)
      const odd = libraries.filter((name) => !LIBRARIES.test(name))
      const versions = [...said.matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor))
      const newest = Math.max(...versions)
      return passIf(odd.length === 0 && newest <= 28, `GLIBC_2.${newest}, ${libraries.join(' ')}`)
    },
  },
  {
    number: 7,
    title: 'NOTICE names every part',
    run: ({ installation }) => {
      const notice = fs.readFileSync(join(installation, 'NOTICE'), 'utf8')
      const missing = parts(installation).filter(
        ({ name, version }) => !notice.includes(`\n${name} ${version} (`),
      )
      return passIf(missing.length === 0, missing.map(({ name }) => name).join(', ') || 'all')
    },
  },
  {
    number: 8,
    title: 'the list of parts has the runtime, the helper and the library',
    run: ({ installation }) => {
      const names = new Set(parts(installation).map(({ name }) => name))
      const wanted = ['node', 'reeve-task', 'libatomic', 'musl', 'fastify', 'classic-level']
      return passIf(
        wanted.every((name) => names.has(name)),
        `${names.size} parts`,
      )
    },
  },
  {
    number: 9,
    title: 'every module that begins a thread or a process is in the bundle',
    run: (release) => {
      const modules = installedFiles(release).filter(({ path }) => /^program\/.*\.js$/.test(path))
      const known = new Set(modules.map(({ path }) => path))
      const begun = modules.flatMap(({ path, data }) =>
        [...data.toString().matchAll(BEGUN)].map(([, name = '']) => join(dirname(path), name)),
      )
      const missing = begun.filter((path) => !known.has(path))
      const isRight = begun.length > 0 && missing.length === 0
      return passIf(isRight, missing.join(', ') || `${begun.length} references`)
    },
  },
  {
    number: 10,
    title: 'the compiled code of a release is accepted after a move, for another user',
    run: ({ installation }) => {
      const moved = fs.mkdtempSync('/tmp/reeve-moved-')
      try {
        run('cp', ['-a', `${installation}/.`, moved])
        fs.chmodSync(moved, 0o755)
        const results = [RUNTIME_FLAGS, COMMAND_FLAGS].map((flags) => cacheUse(moved, flags))
        const isRight = results.every(({ accepted, rejected }) => accepted > 10 && rejected === 0)
        const says = results.map(
          ({ accepted, rejected }) => `${accepted} of ${accepted + rejected}`,
        )
        return passIf(isRight, `accepted with the flags of servers ${says.join(', of commands ')}`)
      } finally {
        fs.rmSync(moved, { recursive: true })
      }
    },
  },
]

const NOBODY = 65_534

function cacheUse(installation: string, flags: readonly string[]) {
  const said = run(
    join(installation, 'lib/node'),
    [...flags, join(installation, 'program/reeve.js'), 'job', 'status', '--help'],
    {
      env: { NODE_DEBUG_NATIVE: 'COMPILE_CACHE', HOME: '/nonexistent' },
      ...(process.getuid?.() === 0 ? { uid: NOBODY } : {}),
    },
  )
  const count = (of: RegExp): number => said.match(of)?.length ?? 0
  return { accepted: count(/was accepted/g), rejected: count(/was rejected/g) }
}

const BEGUN = /new URL\("([^"]+\.(?:js|ts))",\s*import\.meta\.url\)/g
const LIBRARIES = /^(?:lib(?:atomic|dl|m|stdc\+\+|gcc_s|pthread|c)\.so\.\d|ld-linux.*)$/

function parts(installation: string): { name: string; version: string }[] {
  const document: { components: { name: string; version: string }[] } = JSON.parse(
    fs.readFileSync(join(installation, 'sbom.cdx.json'), 'utf8'),
  )
  return document.components
}

/** Checks of a release: one function each, in the order of their numbers. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { readTree } from './archive.ts'
import { RUNTIME_FLAGS } from './cache.ts'
import { inRoot, run, type OpenedRelease } from './opened.ts'

export interface Outcome {
  readonly kind: 'passed' | 'failed' | 'skipped'
  readonly says: string
}

interface Check {
  readonly number: number
  readonly title: string
  readonly run: (release: OpenedRelease) => Outcome | Promise<Outcome>
}

const skipped = (says: string): Outcome => ({ kind: 'skipped', says })
const when = (isRight: boolean, says: string): Outcome => ({
  kind: isRight ? 'passed' : 'failed',
  says,
})

const MEGABYTE = 1_000_000

function reeve({ installation }: OpenedRelease, ...args: string[]): string {
  return run(join(installation, 'bin/reeve'), args, {
    env: { HOME: '/nonexistent', PATH: '/usr/bin:/bin' },
  })
}

/** Names and contents of all files of the tarball. */
function files({ installation }: OpenedRelease) {
  return readTree(installation).filter(({ kind }) => kind === 'file')
}

function isTool(name: string): boolean {
  return spawnSync(name, ['--version']).error === undefined
}

const build: readonly Check[] = [
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
      return when(a === b, `${folder} and ${other}`)
    },
  },
  {
    number: 2,
    title: 'no path of the build machine in any file',
    run: (release) => {
      const root = Buffer.from(`${process.cwd()}/`)
      const found = files(release).filter(({ data }) => data.includes(root))
      return when(found.length === 0, found.map(({ path }) => path).join(', ') || 'none')
    },
  },
  {
    number: 3,
    title: 'no large file besides the runtime, modules and web UI',
    run: (release) => {
      const large = files(release).filter(({ data }) => data.length > MEGABYTE)
      const odd = large.filter(({ path }) => !/^(?:lib\/node$|program\/|web\/)/.test(path))
      return when(odd.length === 0, odd.map(({ path }) => path).join(', ') || 'none')
    },
  },
  {
    number: 4,
    title: 'the tarball has at most 45 MB',
    run: (release) => {
      const { size } = fs.statSync(release.file('.tar.xz'))
      return when(size <= 45 * MEGABYTE, `${(size / MEGABYTE).toFixed(1)} MB`)
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
      return when(isStatic && size <= 250_000, `${name}, ${size} bytes`)
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
      return when(odd.length === 0 && newest <= 28, `GLIBC_2.${newest}, ${libraries.join(' ')}`)
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
      return when(missing.length === 0, missing.map(({ name }) => name).join(', ') || 'all')
    },
  },
  {
    number: 8,
    title: 'the list of parts has the runtime, the helper and the library',
    run: ({ installation }) => {
      const names = new Set(parts(installation).map(({ name }) => name))
      const wanted = ['node', 'reeve-task', 'libatomic', 'musl', 'fastify', 'classic-level']
      return when(
        wanted.every((name) => names.has(name)),
        `${names.size} parts`,
      )
    },
  },
  {
    number: 10,
    title: 'the shipped compiled code is accepted',
    run: ({ installation }) => {
      const moved = fs.mkdtempSync('/tmp/reeve-moved-')
      try {
        run('cp', ['-a', `${installation}/.`, moved])
        fs.chmodSync(moved, 0o755)
        const said = run(
          join(moved, 'lib/node'),
          [...RUNTIME_FLAGS, join(moved, 'program/reeve.js'), 'job', 'status', '--help'],
          { env: { NODE_DEBUG_NATIVE: 'COMPILE_CACHE', HOME: '/nonexistent' } },
        )
        const accepted = said.match(/was accepted/g)?.length ?? 0
        const rejected = said.match(/was rejected/g)?.length ?? 0
        return when(accepted > 10 && rejected === 0, `${accepted} accepted, ${rejected} rejected`)
      } finally {
        fs.rmSync(moved, { recursive: true })
      }
    },
  },
]

const LIBRARIES = /^(?:lib(?:atomic|dl|m|stdc\+\+|gcc_s|pthread|c)\.so\.\d|ld-linux.*)$/

function parts(installation: string): { name: string; version: string }[] {
  const document: { components: { name: string; version: string }[] } = JSON.parse(
    fs.readFileSync(join(installation, 'sbom.cdx.json'), 'utf8'),
  )
  return document.components
}

/** A first job, from nothing: the agent starts, answers, and runs the example to its logs. */
function firstJob(program: string): string {
  return `cd /root
${program} agent --dev --http-port 4996 >/tmp/agent.log 2>&1 &
agent=$!
export REEVE_ADDR=http://127.0.0.1:4996
tries=0
until ${program} node status >/dev/null 2>&1; do
  tries=$((tries + 1)); [ $tries -lt 100 ] || { cat /tmp/agent.log; exit 1; }; sleep 0.3
done
${program} job init >/dev/null
${program} job run example.hcl
for file in /proc/[0-9]*/environ; do
  if tr '\\0' '\\n' <$file 2>/dev/null | grep -q '_ALLOC_ID='; then
    tr '\\0' '\\n' <$file | grep '^LD_LIBRARY_PATH\\|^NODE_\\|^MALLOC_' && echo LEAKED
  fi
done
kill $agent; wait $agent 2>/dev/null || :
`
}

const FIRST_JOB_MS_MAX = 60_000

const tarball: readonly Check[] = [
  {
    number: 11,
    title: 'a first job in an empty Debian root within 60 s',
    run: (release) => {
      const root = release.debianRoot()
      if (root === undefined) return skipped(release.rootMissing)
      const startedMs = performance.now()
      const name = release.installation.split('/').at(-1) ?? ''
      run('tar', ['-xJf', release.file('.tar.xz'), '-C', join(root, 'opt')])
      const said = inRoot(root, firstJob(`/opt/${name}/bin/reeve`))
      const tookMs = performance.now() - startedMs
      const isRight = /Deployment \w+ is successful/.test(said) && tookMs <= FIRST_JOB_MS_MAX
      return when(
        isRight,
        `${(tookMs / 1_000).toFixed(1)} s from unpacking to a healthy deployment`,
      )
    },
  },
  {
    number: 13,
    title: 'nothing is written below the installation',
    run: (release) => {
      const hashes = (): string =>
        files(release)
          .map(({ path, data }) => `${path} ${createHash('md5').update(data).digest('hex')}`)
          .join('\n')
      const before = hashes()
      reeve(release, 'job', 'status', '--help')
      reeve(release, 'config', 'validate', join(release.installation, 'share/examples/server.hcl'))
      run(join(release.installation, 'bin/reeve'), ['version'], {
        env: { HOME: '/nonexistent', NODE_OPTIONS: '--stack-trace-limit=20' },
      })
      return when(before === hashes(), 'after commands as root, also with other flags')
    },
  },
  {
    number: 14,
    title: 'through a link, from another directory, with a space in the path',
    run: (release) => {
      const link = join(release.installation, '../link to reeve')
      fs.symlinkSync(join(release.installation, 'bin/reeve'), link)
      const said = run(link, ['version'], {
        cwd: '/',
        env: { HOME: '/nonexistent', PATH: '/usr/bin:/bin' },
      })
      fs.rmSync(link)
      return when(said.startsWith(`reeve ${release.version} (commit `), said.trim())
    },
  },
  {
    number: 19,
    title: 'no text speaks of a checkout or npm',
    run: (release) => {
      const own = files(release).filter(({ path }) =>
        /^(?:program\/.*\.js|bin\/|share\/)/.test(path),
      )
      const found = own.filter(({ data }) => HINT.test(data.toString()))
      return when(found.length === 0, found.map(({ path }) => path).join(', ') || 'none')
    },
  },
]

/** In a line of code; comments of packages speak of their own development. */
const HINT = /^(?!\s*(?:\*|\/\/)).*(?:\bnpm (?:run|start|install|rebuild|ci)\b|of a checkout)/m

const packages: readonly Check[] = [
  {
    number: 21,
    title: 'deb: installs without starting anything, creates user and modes; runs a first job',
    run: (release) => {
      const root = release.debianRoot()
      if (root === undefined) return skipped(release.rootMissing)
      fs.copyFileSync(release.file('.deb'), join(root, 'tmp/reeve.deb'))
      const said = inRoot(
        root,
        `dpkg -i /tmp/reeve.deb
stat -c '%a %U %G' /etc/reeve.d
getent passwd reeve
echo '# edited' >>/etc/reeve.d/reeve.hcl
dpkg -i /tmp/reeve.deb >/dev/null
tail -1 /etc/reeve.d/reeve.hcl
${firstJob('/usr/bin/reeve')}
dpkg -r reeve
ls /etc/reeve.d
dpkg -P reeve
ls -d /usr/lib/reeve /etc/reeve.d /var/lib/reeve /var/cache/reeve* 2>&1 || :
`,
      )
      const wanted = [
        /750 root reeve/,
        /^reeve:x:/m,
        /^# edited$/m,
        /is successful/,
        /^reeve\.hcl$/m,
      ]
      const wrong = wanted.filter((one) => !one.test(said))
      const left = /^\/(?:usr|etc|var)\/.*reeve.*$/m.exec(said)?.[0]
      return when(
        wrong.length === 0 && left === undefined,
        wrong.length > 0
          ? `${wrong.join(' ')} not in: ${said.slice(-800)}`
          : `left behind: ${left ?? 'nothing'}`,
      )
    },
  },
  {
    number: 22,
    title: 'systemd-analyze verify accepts the units',
    run: (release) => {
      if (!isTool('systemd-analyze')) return skipped('systemd-analyze is not installed')
      const units = ['server', 'agent'].map((one) =>
        join(release.installation, `share/systemd/reeve-${one}.service`),
      )
      const { stderr } = spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' })
      const said = stderr
        .split('\n')
        .filter((line) => /reeve-/.test(line) && !/is not executable|man reeve/.test(line))
      return when(said.length === 0, said.join('; ') || 'both')
    },
  },
  {
    number: 23,
    title: 'lintian: only overridden tags',
    run: (release) => {
      if (!isTool('lintian')) return skipped('lintian is not installed')
      const { stdout } = spawnSync('lintian', ['--allow-root', release.file('.deb')], {
        encoding: 'utf8',
      })
      const errors = stdout.split('\n').filter((line) => line.startsWith('E: '))
      return when(errors.length === 0, errors.join('; ') || 'no errors')
    },
  },
]

const release: readonly Check[] = [
  {
    number: 45,
    title: 'install.sh: installs, twice; rejects a changed file and a changed list',
    run: (opened) => {
      const from = fs.mkdtempSync('/tmp/reeve-from-')
      try {
        for (const name of ['install.sh', 'SHA256SUMS'])
          fs.copyFileSync(join(opened.folder, name), join(from, name))
        const tarFile = opened.file('.tar.xz')
        const copy = join(from, tarFile.split('/').at(-1) ?? '')
        fs.symlinkSync(tarFile, copy)
        const install = (): { status: number | null; stderr: string } =>
          spawnSync(
            'sh',
            [
              join(from, 'install.sh'),
              '--prefix',
              join(from, 'prefix'),
              '--from',
              from,
              '--public-key',
              '',
            ],
            { encoding: 'utf8' },
          )
        const states = [install(), install()]
        const said = run(join(from, 'prefix/bin/reeve'), ['version'])
        fs.rmSync(copy)
        fs.writeFileSync(copy, 'changed')
        const changed = install()
        const isRight =
          states.every(({ status }) => status === 0) &&
          said.startsWith('reeve ') &&
          changed.status === 1 &&
          /is not what the release says\. Nothing was installed/.test(changed.stderr)
        return when(isRight, isRight ? 'as wanted' : JSON.stringify([states, changed]))
      } finally {
        fs.rmSync(from, { recursive: true, force: true })
      }
    },
  },
  {
    number: 47,
    title: 'version --json has commit and time',
    run: (opened) => {
      const said: Record<string, unknown> = JSON.parse(reeve(opened, 'version', '--json'))
      const wanted: Record<string, unknown> = JSON.parse(
        fs.readFileSync(join(opened.installation, 'version.json'), 'utf8'),
      )
      const isRight = ['version', 'commit', 'builtAt'].every((name) => said[name] === wanted[name])
      return when(isRight, JSON.stringify(said))
    },
  },
]

/** Checks that need what this script does not have; each says what was not tried. */
const OPEN: readonly (readonly [number: number, title: string, why: string])[] = [
  [
    26,
    'old server between unpack and restart',
    'needs a running systemd; the program says that it was replaced',
  ],
  [31, "OOM score and limits of a task are not the agent's", 'needs a running systemd'],
  [32, 'exec, set-uid, mounts and cgroups under the unit', 'needs a running systemd'],
  [33, 'the server unit opens port, data, certificates and PostgreSQL', 'needs a running systemd'],
  [
    34,
    'reload exchanges certificates',
    'needs a running systemd; SIGHUP itself is tested with the agent',
  ],
]

const open: readonly Check[] = OPEN.map(([number, title, why]) => ({
  number,
  title,
  run: () => skipped(why),
}))

export const CHECKS: readonly Check[] = [
  ...build,
  ...tarball,
  ...packages,
  ...release,
  ...open,
].toSorted((a, b) => a.number - b.number)

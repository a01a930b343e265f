/** Checks 21 to 34: the packages for Debian and Red Hat. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { inRoot, run, type OpenedRelease } from '../opened.ts'
import { saidByTask } from './tarball.ts'
import { jobText, withAgent, withTempFolder } from './agent.ts'
import {
  isTool,
  skipped,
  passIf,
  passIfMatches,
  type Check,
  type Outcome,
  firstJobScript,
  HEALTHY,
} from './check.ts'

/** The output of one life of the Debian package, which several checks read. */
const lives = new WeakMap<OpenedRelease, string | undefined>()

function lifeOfDeb(release: OpenedRelease): string | undefined {
  if (!lives.has(release)) lives.set(release, liveDeb(release))
  return lives.get(release)
}

function liveDeb(release: OpenedRelease): string | undefined {
  const root = release.debianRoot()
  if (root === undefined) return undefined
  fs.copyFileSync(release.file('.deb'), join(root, 'tmp/reeve.deb'))
  return inRoot(
    root,
    `dpkg -i /tmp/reeve.deb
stat -c '%a %U %G' /etc/reeve.d
getent passwd reeve
${RUNNING}
[ -n "$(running 'node*')" ] || echo 'nothing runs'
echo '# edited' >>/etc/reeve.d/reeve.hcl
dpkg -i /tmp/reeve.deb >/dev/null
echo "after the upgrade: $(tail -1 /etc/reeve.d/reeve.hcl)"
${firstJobScript('/usr/bin/reeve')}
${UPGRADE_WITH_TASK}
mkdir -p /var/lib/reeve/server
dpkg -r reeve
echo "after the removal: $(ls -d /etc/reeve.d/reeve.hcl /var/lib/reeve/server)"
dpkg -P reeve
ls -d /usr/lib/reeve /etc/reeve.d /var/lib/reeve /var/cache/reeve* 2>/dev/null | sed 's/^/left behind: /'
`,
  )
}

/** The processes whose names match a pattern; an essential system has no `pgrep`. */
const RUNNING = `running() {
  for name in /proc/[0-9]*/comm; do
    case $(cat "$name" 2>/dev/null) in $1) echo "$name" ;; esac
  done
}`

/**
 * A node with its own data directory: the task outlives the agent, and the next agent finds it. Its
 * supervisor is called `reeve-task`; the helper that ends with the agent has a longer name.
 */
const UPGRADE_WITH_TASK = `
export REEVE_ACL=false REEVE_RAW_EXEC=true
start_agent() {
  /usr/bin/reeve agent --server --client --data-dir /root/node --http-port 4996 >>/root/node.log 2>&1 &
  agent=$!
  tries=0
  until curl_health; do
    tries=$((tries + 1)); [ $tries -lt 200 ] || { cat /root/node.log; exit 1; }; sleep 0.3
  done
}
curl_health() { /usr/bin/reeve node status 2>/dev/null | grep -q ready; }
start_agent
/usr/bin/reeve job run example.hcl
before=$(running reeve-task)
dpkg -i /tmp/reeve.deb >/dev/null
kill $agent; wait $agent 2>/dev/null || :
start_agent
after=$(running reeve-task)
[ -n "$before" ] && [ "$before" = "$after" ] && echo "tasks kept: $after"
echo "job after the upgrade: $(/usr/bin/reeve job status | grep example)"
/usr/bin/reeve job stop --purge example >/dev/null
kill $agent; wait $agent 2>/dev/null || :
`

function fromDeb(release: OpenedRelease, wanted: readonly RegExp[], says: string): Outcome {
  const said = lifeOfDeb(release)
  return said === undefined ? skipped(release.rootMissing) : passIfMatches(said, wanted, says)
}

const NO_SYSTEMD = 'needs a machine that was booted with systemd'

export const packages: readonly Check[] = [
  {
    number: 21,
    title: 'deb: installs without starting anything, creates user and modes; runs a first job',
    run: (release) =>
      fromDeb(
        release,
        [/750 root reeve/, /^reeve:x:/m, /^nothing runs$/m, HEALTHY],
        'user reeve, /etc/reeve.d 0750 root:reeve, nothing started',
      ),
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
      return passIf(said.length === 0, said.join('; ') || 'both')
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
      const tags = stdout.split('\n').filter((line) => /^[EW]: /.test(line))
      return passIf(tags.length === 0, tags.join('; ') || 'no errors or warnings')
    },
  },
  {
    number: 24,
    title: 'deb: an edited configuration file survives an upgrade',
    run: (release) => fromDeb(release, [/^after the upgrade: # edited$/m], 'kept'),
  },
  {
    number: 25,
    title: 'deb: an upgrade keeps tasks and jobs',
    run: (release) =>
      fromDeb(
        release,
        [/^tasks kept: \/proc/m, /^job after the upgrade: .*running/m],
        'same processes, job running',
      ),
  },
  {
    number: 26,
    title: 'the old server between unpacking and restart',
    run: whileReplaced,
  },
  {
    number: 27,
    title: 'deb: removal keeps data and configuration',
    run: (release) =>
      fromDeb(
        release,
        [/^after the removal: \/etc\/reeve\.d\/reeve\.hcl$/m, /^\/var\/lib\/reeve\/server$/m],
        'both kept',
      ),
  },
  {
    number: 28,
    title: 'deb: purge leaves nothing behind',
    run: (release) => {
      const said = lifeOfDeb(release)
      if (said === undefined) return skipped(release.rootMissing)
      const left = said.match(/^left behind: .*$/gm) ?? []
      return passIf(left.length === 0, left.join(' ') || 'nothing')
    },
  },
  { number: 29, title: 'stopped units stay stopped', run: () => skipped(NO_SYSTEMD) },
  {
    number: 30,
    title: 'an older program refuses newer storage and changes nothing',
    run: (release) => olderOnNewer(release),
  },
  {
    number: 31,
    title: "a task does not have the agent's protection from the OOM killer",
    run: async (release) => {
      const isAllowed = spawnSync('sh', ['-c', 'echo -1 >/proc/self/oom_score_adj']).status === 0
      if (!isAllowed) return skipped('needs CAP_SYS_RESOURCE, to protect an agent')
      // As systemd starts the agent with OOMScoreAdjust=-800.
      const script = 'echo -800 >/proc/self/oom_score_adj; exec "$0" "$@"'
      const program = ['/bin/sh', '-c', script, join(release.installation, 'bin/reeve')]
      const options = { program, args: ['--dev'] }
      const said = await withAgent(options, (agent) => saidByTask(agent, 'raw_exec'))
      const score = /^(-?\d+)$/m.exec(said)?.[1] ?? 'not printed'
      return passIf(Number(score) >= 0, `oom_score_adj of the task: ${score}`)
    },
  },
  {
    number: 32,
    title: 'exec, set-uid, mounts and cgroups under the unit',
    run: () => skipped(NO_SYSTEMD),
  },
  {
    number: 33,
    title: 'the server unit opens port, data, certificates and PostgreSQL',
    run: () => skipped(NO_SYSTEMD),
  },
  {
    number: 34,
    title: 'a reload of the unit exchanges certificates',
    run: () => skipped(NO_SYSTEMD),
  },
]

/**
 * A server whose files are gone, as after the unpacking of another version: what it has loaded goes
 * on, and a thread that it has not started yet is refused with a sentence.
 */
async function whileReplaced(release: OpenedRelease): Promise<Outcome> {
  return await withTempFolder(async (folder) => {
    const copy = join(folder, 'installation')
    run('cp', ['-a', release.installation, copy])
    const program = [join(copy, 'bin/reeve')]
    return await withAgent({ program, args: ['--dev'] }, async ({ address }) => {
      const page = await (await fetch(`${address}/ui/`)).text()
      const asset = /(?:src|href)="(\/ui\/assets\/[^"]+)"/.exec(page)?.[1] ?? '/ui/no-asset'
      fs.rmSync(join(copy, 'program'), { recursive: true })
      fs.rmSync(join(copy, 'web'), { recursive: true })
      const body = JSON.stringify({ JobHCL: jobText('parsed') })
      const paths = ['/v1/agent/health', '/v1/jobs', '/ui/', asset, '/openapi.json']
      const loaded = await Promise.all(
        paths.map(async (path) => [path, (await fetch(`${address}${path}`)).status] as const),
      )
      const parsed = await fetch(`${address}/v1/jobs/parse`, { method: 'POST', body })
      const text = await parsed.text()
      const failed = loaded.filter(([, status]) => status !== 200)
      const isSentence = parsed.status === 503 && /was upgraded or damaged\. Restart it/.test(text)
      const says = `${failed.join(' ')} parse: ${parsed.status} ${text}`.trim()
      return passIf(failed.length === 0 && (parsed.status === 200 || isSentence), says)
    })
  })
}

/** The version file of the storage is made one newer, as a later release would write it. */
async function olderOnNewer(release: OpenedRelease): Promise<Outcome> {
  return await withTempFolder(async (folder) => {
    const program = [join(release.installation, 'bin/reeve')]
    const args = ['--server', '--data-dir', folder]
    await withAgent({ program, args }, (agent) => agent.cli('namespace', 'list'))
    const file = join(folder, 'server/storage/FORMAT')
    const text = fs.readFileSync(file, 'utf8')
    const newer = text.replace(/"format":\s*(\d+)/, (_, format) => `"format":${Number(format) + 1}`)
    fs.writeFileSync(file, newer)
    const { status, stdout, stderr } = spawnSync(
      program[0] ?? '',
      ['agent', '--http-port', '0', ...args],
      { encoding: 'utf8', timeout: 60_000 },
    )
    const isSame = fs.readFileSync(file, 'utf8') === newer
    const outcome = passIfMatches(
      `${stdout}${stderr}`,
      [/A newer Reeve wrote it/],
      'refused, unchanged',
    )
    return status === 1 && isSame ? outcome : passIf(false, `exit ${status}, unchanged: ${isSame}`)
  })
}

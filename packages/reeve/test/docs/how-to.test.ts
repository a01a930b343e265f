import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { aCommandLine, type CommandLineBench } from '../build/cli.ts'
import { programOnPath } from '../build/program-on-path.ts'

/**
 * Runs the shell fences of the guides and of the reference that is written by hand, and finds
 * fences that no test runs. Tutorials, the tour and the governance pages have their own tests.
 */
const DOCS = join(import.meta.dirname, '../../../../docs')
const SHELLS: readonly string[] = ['sh', 'shell', 'bash', 'console']
/** On a machine that is busy with other tests. */
const WITHIN_MS = 300_000

interface Story {
  /** Files of the page by the sentence before them are not enough: what the reader has already. */
  readonly files?: Readonly<Record<string, string>>
  /** What the reader has done before. */
  readonly before?: string
  /** Placeholders, and commands that would wait for a person, with what a test writes instead. */
  readonly words?: Readonly<Record<string, string>>
  /** Fences that are not run, by their first line, with the reason. */
  readonly notRun?: Readonly<Record<string, string>>
}

const WEB = `job "web" {
  group "app" {
    update {
      min_healthy_time = "0s"
    }
    task "server" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo ready; echo started >&2; sleep 600"]
      }
      resources {
        cpu    = 20
        memory = 32
      }
    }
  }
}
`
const RUN_WEB = 'reeve job run web.hcl'
/** The newest allocation of the job. */
const ALLOC = `"$(reeve job allocs web -t '{{ (index . 0).ID }}')"`
const NODE = `"$(reeve node status -t '{{ (index . 0).ID }}')"`
const FOLLOWED = '{ timeout 3 reeve alloc logs -f ALLOC || test $? -eq 124; }'

/** The first line of the fence that needs the program that writes the plan. */
const PLAN = await firstLineWith('how-to/ci.md', 'plan -input=false')

const VOLUMES = 'creates a directory as root on the node; cli/every-command runs the commands'
const RESTORE = 'undoes what the pages before have done; cli/snapshot-online.test.ts runs it'
const PACKAGES = 'changes the packages of the machine; `npm run release-check` installs them'

/** Pages whose commands run on one server, in this order. */
const STORIES: Readonly<Record<string, Story>> = {
  'how-to/ci.md': {
    files: {
      'web.hcl': WEB,
    },
    before: RUN_WEB,
    notRun: {
      'reeve policy check policies': 'needs a directory of policies; cli/every-command has one',
      'reeve job run --check-index 42 web.hcl':
        'the index is that of an earlier plan; cli/exit-codes.test.ts passes one',
      [PLAN]: 'needs another program; tutorials/plan-policy.md evaluates a plan that it printed',
      'reeve acl token create --name ci --role shop-pipeline --ttl 8h':
        'the role is that of acls-for-teams.md, which runs the same command',
    },
  },
  'how-to/debug-a-failing-job.md': {
    files: { 'web.hcl': WEB, 'second.hcl': WEB.replace('echo ready', 'echo again') },
    before: `${RUN_WEB}\nreeve job run second.hcl`,
    words: { 'reeve alloc logs -f ALLOC': FOLLOWED, 'TASK/local': 'server/local', ALLOC },
  },
  'how-to/debug-a-pending-job.md': { files: { 'web.hcl': WEB }, before: RUN_WEB },
  'how-to/ship-logs.md': {
    files: { 'web.hcl': WEB },
    before: RUN_WEB,
    words: {
      ALLOC,
      'reeve job logs -f --all-allocs web | your-shipper':
        '{ timeout 3 reeve job logs -f --all-allocs web || test $? -eq 124; } | cat',
    },
  },
  'explanation/infrastructure-runs.md': {
    notRun: {
      'reeve run start network --message "rotate keys"':
        'needs an uploaded configuration; cli/run-start.test.ts uploads one',
    },
  },
  'how-to/infrastructure-runs.md': {
    files: { 'key.txt': 's3cret\n' },
    before: `reeve org create acme --email ops@acme.example
reeve project create payments
reeve workspace create api --project payments`,
    notRun: {
      'reeve state list network': 'needs a history of states; cli/state.test.ts writes one',
    },
  },
  'how-to/back-up-and-restore.md': {
    notRun: {
      'reeve operator snapshot restore --yes monday.snapshot': RESTORE,
      'reeve operator storage check --data-dir /var/lib/reeve':
        'of a server that is stopped; cli/every-command runs it',
      'reeve operator storage salvage --data-dir /var/lib/reeve --to /var/lib/reeve-new':
        'of a server that is stopped; cli/every-command runs it',
    },
  },
  'how-to/host-volumes.md': {
    notRun: {
      'reeve volume create volume.hcl': VOLUMES,
      'reeve job run shop.hcl': VOLUMES,
      'reeve job stop --purge shop': VOLUMES,
    },
  },
  'how-to/tls.md': {},
  'how-to/run-several-servers.md': {
    words: { '/var/lib/reeve': '$PWD/restored' },
    notRun: {
      'reeve node revoke --reason "disk was stolen" web-1':
        'a node that is revoked takes no work for later pages; cli/every-command runs it',
      'reeve operator snapshot restore --yes monday.snapshot': RESTORE,
      'reeve operator snapshot restore --data-dir /var/lib/reeve monday.snapshot     # or --database; must be empty, with no server running':
        'starts another server; cli/snapshot.test.ts restores and starts one',
    },
  },
  'how-to/replace-a-node.md': {
    files: { 'web.hcl': WEB },
    before: 'reeve job stop web',
    words: { NODE, JOB: 'web' },
    notRun: {
      'reeve node purge NODE': 'only a node that is down can be purged; cli/node.test.ts does',
    },
  },
  'how-to/install.md': {
    notRun: {
      'minisign -Vm SHA256SUMS -P "$REEVE_PUBLIC_KEY"': PACKAGES,
      'sh install.sh --prefix "$HOME/.local"': PACKAGES,
      'apt-get install ./reeve_VERSION_amd64.deb': PACKAGES,
      'cp /usr/share/doc/reeve/examples/server.hcl /etc/reeve.d/server/': PACKAGES,
      'cp /usr/share/doc/reeve/examples/agent.hcl /etc/reeve.d/agent/': PACKAGES,
      'podman run --read-only --cap-drop all --tmpfs /tmp -p 4646:4646 -v reeve:/var/lib/reeve IMAGE':
        PACKAGES,
      'npm install --global reeve': PACKAGES,
    },
  },
  'how-to/upgrade.md': {
    notRun: {
      'reeve server members                       # which one leads, and the build of each':
        PACKAGES,
      'apt-get install ./reeve_VERSION_amd64.deb': PACKAGES,
    },
  },
  'how-to/postgresql-failover.md': {
    notRun: {
      "pg_basebackup -D /var/lib/postgresql/data -R -d 'host=db-1 user=replicator application_name=db_2'":
        'copies a database of another machine',
    },
  },
  'how-to/migrate-governance.md': {
    notRun: {
      'reeve import governance --from "$SOURCE" --from-token "$SOURCE_TOKEN" --organization acme':
        'needs another product; cli/import-governance.test.ts imports from a server like it',
      'reeve import governance --from "$SOURCE" --from-token "$SOURCE_TOKEN" --organization acme --apply':
        'needs another product; cli/import-governance.test.ts imports from a server like it',
    },
  },
  'how-to/migrate-workload.md': {
    notRun: {
      'reeve import workload --from "$SOURCE" --from-token "$SOURCE_TOKEN"':
        'needs another product; cli/import-workload.test.ts imports from a server like it',
      'reeve import workload --from "$SOURCE" --from-token "$SOURCE_TOKEN" --apply':
        'needs another product; cli/import-workload.test.ts imports from a server like it',
      'reeve job start web --detach':
        'starts a job that was imported; cli/import-workload.test.ts does',
    },
  },
  'reference/services.md': {
    files: { 'password.txt': 's3cret' },
    words: {
      '--check-index 12': `--check-index "$(reeve var get app/db -t '{{ .ModifyIndex }}')"`,
    },
  },
  'reference/configuration.md': {
    before: 'reeve node pool apply gpu',
    words: {
      'REEVE_JOIN_TOKEN=SECRET reeve agent --client --join 10.0.0.1 --data-dir /var/lib/reeve': '',
    },
    notRun: {
      'echo 3 | sudo tee /var/lib/reeve/acl-bootstrap-reset':
        'writes into the data directory of a server; e2e/program.test.ts does',
    },
  },
  'reference/templates.md': {},
}

/** Pages whose commands run on one server with ACLs, in this order. */
const SECURED: Readonly<Record<string, Story>> = {
  'how-to/acls-for-teams.md': {
    words: {
      'reeve acl bootstrap\nreeve login':
        "reeve acl bootstrap -t '{{ .SecretID }}' > secret\nreeve login - < secret",
      'REEVE_TOKEN=SECRET reeve':
        "REEVE_TOKEN=$(reeve acl token create --role shop-member -t '{{ .SecretID }}') reeve",
    },
  },
  'reference/access-control.md': {
    files: { 'deploy.hcl': 'namespace "default" {\n  policy = "write"\n}\n' },
  },
}

/** Pages that other tests of this folder and cli/tour.test.ts run. */
const RUN_ELSEWHERE = ['how-to/use-the-governance-api.md', 'how-to/write-and-test-policies.md']

interface Fence {
  readonly kind: string
  /** The name in backquotes at the end of the sentence before it. */
  readonly name: string | undefined
  readonly content: string
}

function fencesOf(page: string): readonly Fence[] {
  return [...page.matchAll(/([^\n]*)\n\n```(\w*)[^\n]*\n(.*?)^```$/gms)].map(
    ([, before = '', kind = '', content = '']) => {
      const line = before.split('\n').at(-1) ?? ''
      return { kind, name: /`([\w-]+\.\w+)`/.exec(line)?.[1], content }
    },
  )
}

/** The first line of the fence that has this text. */
async function firstLineWith(name: string, part: string): Promise<string> {
  const script = scriptsOf(await readPage(name)).find((one) => one.includes(part))
  return script?.split('\n')[0] ?? assert.fail(`${name}: no fence with ${part}`)
}

function scriptsOf(page: string): readonly string[] {
  return fencesOf(page).flatMap(({ kind, content }) => (SHELLS.includes(kind) ? [content] : []))
}

async function readPage(name: string): Promise<string> {
  return await readFile(join(DOCS, name), 'utf8')
}

test('docs: every shell fence is run by a test, or says why not', async () => {
  const known = { ...STORIES, ...SECURED }
  const problems: string[] = []
  for (const folder of ['how-to', 'reference', 'explanation'])
    for (const file of await readdir(join(DOCS, folder))) {
      const name = `${folder}/${file}`
      if (!file.endsWith('.md') || RUN_ELSEWHERE.includes(name)) continue
      const scripts = scriptsOf(await readPage(name))
      const story = known[name]
      if (story === undefined && scripts.length > 0) problems.push(`${name}: no test runs it`)
      const firstLines = scripts.map((script) => script.split('\n')[0] ?? '')
      for (const line of Object.keys(story?.notRun ?? {}))
        if (!firstLines.includes(line)) problems.push(`${name}: no fence begins with ${line}`)
    }
  assert.deepEqual(problems, [])
})

test('docs: the commands of the guides work', { timeout: 10 * WITHIN_MS }, async (t) => {
  const reeve = await aCommandLine(t)
  const path = `${await programOnPath(reeve.directory)}:${process.env['PATH'] ?? ''}`
  for (const [name, story] of Object.entries(STORIES))
    await t.test(name, { timeout: WITHIN_MS }, async () => await tell(name, story, { reeve, path }))
})

test('docs: the commands of the guides work with ACLs', { timeout: WITHIN_MS }, async (t) => {
  const reeve = await aCommandLine(t, ['--acl'])
  const path = `${await programOnPath(reeve.directory)}:${process.env['PATH'] ?? ''}`
  for (const [name, story] of Object.entries(SECURED))
    await t.test(name, { timeout: WITHIN_MS }, async () => await tell(name, story, { reeve, path }))
})

interface Place {
  readonly reeve: CommandLineBench
  readonly path: string
}

async function tell(name: string, story: Story, { reeve, path }: Place): Promise<void> {
  const page = await readPage(name)
  const cwd = join(reeve.directory, name)
  await mkdir(cwd, { recursive: true })
  const named = fencesOf(page).flatMap(({ name: file, kind, content }) =>
    file === undefined || SHELLS.includes(kind) ? [] : [[file, content] as const],
  )
  const job = /^```hcl\n(job "([\w-]+)".*?)^```$/ms.exec(page)
  if (job !== null) await writeFile(join(cwd, `${job[2] ?? ''}.hcl`), job[1] ?? '')
  for (const [file, content] of [...named, ...Object.entries(story.files ?? {})]) {
    await mkdir(join(cwd, file, '..'), { recursive: true })
    await writeFile(join(cwd, file), content)
  }
  const scripts = scriptsOf(page).filter(
    (script) => story.notRun?.[script.split('\n')[0] ?? ''] === undefined,
  )
  const script = Object.entries(story.words ?? {}).reduce(
    (all, [word, instead]) => all.replaceAll(word, () => instead),
    scripts.join('\n'),
  )
  // A plan with changes ends with 1.
  const checked = script.replaceAll(/^reeve job plan .*$/gm, '{ $& || test $? -eq 1; }')
  const shell = spawn(
    'bash',
    ['-eux', '-o', 'pipefail', '-c', `${story.before ?? ''}\n${checked}`],
    {
      cwd,
      env: { PATH: path, HOME: reeve.directory, REEVE_ADDR: reeve.address },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const exited = once(shell, 'exit')
  const written = await Promise.all([text(shell.stdout), text(shell.stderr)])
  await exited
  assert.equal(shell.exitCode, 0, written.join('\n'))
}

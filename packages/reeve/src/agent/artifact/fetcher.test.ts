import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, link, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { aTar } from '../../../test/build/archive.ts'
import { anArtifactBench, outerAddress, serveFiles } from '../../../test/build/artifact-bench.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { until } from '../../../test/build/until.ts'
import type { FetchJob } from './stage-artifact.ts'
import { adoptTree } from './fetch-artifact.ts'

const isRoot = process.getuid?.() === 0
const needsRoot = { skip: isRoot ? false : 'only root can run a fetcher as another user' }
const hasGit = spawnSync('git', ['--version']).status === 0
const needsGit = { skip: hasGit ? false : 'git is not installed' }
const WITHIN_MS = 180_000

/** A program in the place of git: clones by running a script in the new directory. */
const clone = (script: string): string =>
  `for path; do :; done; mkdir -p "$path" && cd "$path" || exit 1\n${script}`

test('a fetcher has no rights, no groups and nothing of the environment', needsRoot, async (t) => {
  const bench = await anArtifactBench(t)
  process.env['REEVE_TEST_SECRET'] = 'of the agent'
  t.after(() => delete process.env['REEVE_TEST_SECRET'])
  const state = join(bench.root, 'agent')
  await mkdir(state, { mode: 0o711 })
  await writeFile(join(state, 'node.json'), 'secret', { mode: 0o600 })
  const searchPath = await bench.program(
    'git',
    clone(`id -u > uid; id -G > groups; env > env; ls -A "$HOME" > home
grep CapEff /proc/self/status > caps; cat ${state}/node.json > secret 2>/dev/null
ls ${bench.taskDir}/secrets ${bench.root} > listed 2>/dev/null; true`),
  )
  await mkdir(join(bench.taskDir, 'secrets'), { mode: 0o700 })
  await bench.fetch({ source: 'git::https://host.example/repository' }, { searchPath })
  const uid = Number(await bench.read('local/uid'))
  assert.ok(uid >= 1_900_000_000, `uid ${uid}`)
  assert.equal((await bench.read('local/groups')).trim(), String(uid))
  assert.match(await bench.read('local/caps'), /\t0+\n/)
  assert.equal(await bench.read('local/secret'), '')
  assert.equal(await bench.read('local/listed'), '')
  assert.equal(await bench.read('local/home'), '')
  const names = (await bench.read('local/env')).split('\n').map((line) => line.split('=')[0])
  const others = names.filter(
    (name) => !/^(PATH|HOME|PWD|OLDPWD|_|SHLVL|GIT_\w+|)$/.test(name ?? ''),
  )
  assert.deepEqual(others, [])
  // The files belong to the agent in the end, as if it had fetched them itself.
  const found = await lstat(join(bench.taskDir, 'local/uid'))
  assert.deepEqual([found.uid, found.gid, found.mode & 0o7777], [0, 0, 0o644])
})

test(
  'files and directories of an archive end with the owner that was asked for',
  needsRoot,
  async (t) => {
    const bench = await anArtifactBench(t)
    const tree = aTar([
      { path: 'a/b', text: 'x', mode: 0o4777 },
      { path: 'a/l', type: '2', target: 'b' },
    ])
    const { url } = await serveFiles(t, { '/tree.tar': tree })
    const owner = { uid: 12_345, gid: 12_346 }
    await bench.fetch({ source: `${url}/tree.tar`, owner })
    for (const path of ['a', 'a/b', 'a/l']) {
      const found = await lstat(join(bench.taskDir, 'local', path))
      assert.deepEqual([found.uid, found.gid], [owner.uid, owner.gid], path)
    }
    assert.equal((await lstat(join(bench.taskDir, 'local/a/b'))).mode & 0o7777, 0o755)
  },
)

/** Records the arguments of ssh where everybody may write. */
async function recordSsh(t: TestContext, options: Record<string, string>): Promise<string> {
  const bench = await anArtifactBench(t)
  const record = join(bench.root, 'record')
  await mkdir(record)
  await chmod(record, 0o777)
  const script = `echo "$@" > ${record}/args; env > ${record}/env; id -un > ${record}/user; exit 1`
  const searchPath = await bench.program('ssh', script)
  const source = 'git::ssh://git@host.example/repository.git'
  await assert.rejects(bench.fetch({ source, options }, { searchPath }), /git cannot fetch/)
  if (isRoot) assert.equal((await readFile(join(record, 'user'), 'utf8')).trim(), 'nobody')
  assert.doesNotMatch(await readFile(join(record, 'env'), 'utf8'), /SSH_AUTH_SOCK/)
  return readFile(join(record, 'args'), 'utf8')
}

test('ssh gets no key and no configuration of any account', needsGit, async (t) => {
  process.env['SSH_AUTH_SOCK'] = '/run/agent'
  t.after(() => delete process.env['SSH_AUTH_SOCK'])
  const args = await recordSsh(t, {})
  for (const option of ['IdentitiesOnly=yes', 'IdentityFile=none', 'IdentityAgent=none'])
    assert.ok(args.includes(`-o ${option}`), args)
  assert.match(args, /^-F \/dev\/null /)
  assert.doesNotMatch(args, / -i /)
  const withKey = await recordSsh(t, { sshkey: Buffer.from('a key').toString('base64') })
  assert.match(withKey, /^-F \/dev\/null -i \S+\/key .*-o IdentitiesOnly=yes/)
  assert.doesNotMatch(withKey, /IdentityFile/)
})

test('a clone that outgrows the disk is stopped, with all that it started', async (t) => {
  const bench = await anArtifactBench(t)
  const pids = join(bench.root, 'pids')
  await writeFile(pids, '')
  await chmod(pids, 0o666)
  const searchPath = await bench.program(
    'git',
    clone(`echo $$ >> ${pids}; (echo $$; exec sh -c 'echo $$ >> ${pids}; exec sleep 1000') &
while :; do head -c 65536 /dev/zero >> file || exit 1; done`),
  )
  const disk = { bytesMax: 2 ** 20, totalBytes: 3 * 2 ** 20 }
  await assert.rejects(bench.fetch({ source: 'git::https://h.example/r' }, { searchPath, disk }), {
    kind: 'task-artifact',
    message: /^artifact https:\/\/h\.example\/r: it does not fit .*: 1 MiB of 3 MiB are left/,
  })
  assert.deepEqual((await readdir(bench.root)).toSorted(), ['bin', 'pids', 'task'])
  const started = (await readFile(pids, 'utf8')).trim().split('\n').map(Number)
  assert.ok(started.length > 0)
  for (const pid of started) await until(`the end of ${pid}`, () => isGone(pid), WITHIN_MS)
})

async function isGone(pid: number): Promise<true | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State:\tX')
  return /^State:\t[XZ]/m.test(status) ? true : undefined
}

test('a fast clone that does not fit is refused after the fact', needsGit, async (t) => {
  const outside = await temporaryDirectory(t)
  await chmod(outside, 0o755)
  const git = (...args: readonly string[]): void => {
    const user = ['-c', 'user.name=a', '-c', 'user.email=a@b']
    execFileSync('git', ['-C', outside, ...user, ...args])
  }
  git('init', '-q')
  await writeFile(join(outside, 'file'), Buffer.alloc(600_000, 'x'))
  git('add', '.')
  git('commit', '-qm', 'one')
  const bench = await anArtifactBench(t, { allowsFiles: true })
  const source = `git::file://${outside}`
  await assert.rejects(bench.fetch({ source }, { disk: { bytesMax: 500_000 } }), /does not fit/)
  await assert.rejects(
    bench.fetch({ source }, { settings: { entriesMax: 3 } }),
    /more than 3 files/,
  )
  assert.deepEqual(await readdir(join(bench.taskDir, 'local')), [])
  await bench.fetch({ source })
})

const sizes = [
  { name: 'with its length', send: (bytes: Buffer) => bytes },
  {
    name: 'without its length',
    send: (bytes: Buffer) => (response: ServerResponse) => {
      response.write(bytes.subarray(0, 10))
      response.end(bytes.subarray(10))
    },
  },
]
for (const { name, send } of sizes) {
  test(`a download ${name} may fill the disk, and not exceed it`, async (t) => {
    const files = { '/full': send(Buffer.alloc(16_384)), '/more': send(Buffer.alloc(16_385)) }
    const { url } = await serveFiles(t, files)
    const bench = await anArtifactBench(t)
    const disk = { bytesMax: 16_384 }
    await bench.fetch({ source: `${url}/full` }, { disk })
    assert.equal((await bench.read('local/full')).length, 16_384)
    await assert.rejects(bench.fetch({ source: `${url}/more` }, { disk }), /does not fit/)
    assert.deepEqual(await readdir(join(bench.taskDir, 'local')), ['full'])
  })
}

test('archive and content count together, and entries have a limit of their own', async (t) => {
  const entries = (count: number): Buffer =>
    gzipSync(aTar(Array.from({ length: count }, (_, n) => ({ path: `f${n}`, text: 'x' }))))
  const { url } = await serveFiles(t, { '/10.tar.gz': entries(10), '/11.tar.gz': entries(11) })
  const bench = await anArtifactBench(t)
  const disk = { bytesMax: 11 * 4_096 }
  await bench.fetch({ source: `${url}/10.tar.gz` }, { disk })
  await assert.rejects(bench.fetch({ source: `${url}/11.tar.gz` }, { disk }), /does not fit/)
  const settings = { entriesMax: 10 }
  await bench.fetch({ source: `${url}/10.tar.gz` }, { settings })
  await assert.rejects(bench.fetch({ source: `${url}/11.tar.gz` }, { settings }), {
    message:
      /it holds more than 10 files, directories and links.*\(client\.artifact\.max_entries\)/,
  })
})

test('a fetch that reports too much disk usage is aborted', async (t) => {
  const { url } = await serveFiles(t, { '/file': Buffer.alloc(4 * 2 ** 20) })
  const bench = await anArtifactBench(t)
  const used = (bytes: number): void => {
    if (bytes > 2 ** 20) throw new Error('others of the allocation took the rest')
  }
  await assert.rejects(
    bench.fetch({ source: `${url}/file` }, { disk: { report: used } }),
    /took the rest/,
  )
  assert.deepEqual(await readdir(bench.root), ['task'])
})

test('a fetch that is ended leaves neither files nor processes', async (t) => {
  const bench = await anArtifactBench(t)
  const reached = Promise.withResolvers<void>()
  const { url } = await serveFiles(t, {
    '/slow': (response) => {
      response.write('begin')
      reached.resolve()
    },
  })
  const stop = new AbortController()
  const fetching = bench.fetch({ source: `${url}/slow` }, { signal: stop.signal })
  await reached.promise
  stop.abort(new Error('the task was killed'))
  await assert.rejects(fetching, /the task was killed/)
  assert.deepEqual(await readdir(bench.root), ['task'])
})

test('a fetcher ends when its agent is gone', async (t) => {
  const reached = Promise.withResolvers<void>()
  const { url } = await serveFiles(t, {
    '/slow': (response) => {
      response.write('begin')
      reached.resolve()
    },
  })
  const cwd = await temporaryDirectory(t)
  const program = fileURLToPath(new URL('./fetcher.ts', import.meta.url))
  const child = spawn(process.execPath, [program], { cwd, detached: true, stdio: 'pipe' })
  const ended = once(child, 'exit')
  const job: FetchJob = {
    source: { kind: 'http', address: `${url}/slow`, name: 'f', subdirectory: '', options: {} },
    headers: {},
    mode: 'any',
    insecure: false,
    allowsFiles: false,
    allowsLocal: true,
    limits: { bytesMax: 2 ** 20, totalBytes: 2 ** 20, entriesMax: 10 },
    searchPath: '/usr/bin:/bin',
  }
  child.stdin.write(`${JSON.stringify(job)}\n`)
  await reached.promise
  assert.equal(child.exitCode, null)
  // The kernel closes the pipe of an agent that was killed.
  child.stdin.destroy()
  await ended
  assert.deepEqual(await readdir(cwd), ['download'], 'the tree is removed')
})

const local = [
  'git::http://127.0.0.1:1/repository.git',
  'git::https://localhost:1/repository.git',
  'git::git://127.0.0.1:1/repository.git',
  'git::ssh://git@localhost:1/repository.git',
]
for (const source of local) {
  test(`git reaches no local address: ${source}`, needsGit, async (t) => {
    if (source.includes('ssh:') && spawnSync('ssh', ['-V']).status !== 0) {
      t.skip('ssh is not installed')
      return
    }
    const bench = await anArtifactBench(t, { allowsLocal: false })
    await assert.rejects(bench.fetch({ source }), {
      kind: 'task-artifact',
      message: /Artifact source \S+ resolves to (127\.0\.0\.1|::1), which this node does not allow/,
    })
  })
}

test(
  'git clones through the check of addresses, and follows no redirect past it',
  needsGit,
  async (t) => {
    const outer = outerAddress()
    if (outer === undefined) {
      t.skip('this machine has no address that others reach')
      return
    }
    const outside = await temporaryDirectory(t)
    execFileSync('git', ['init', '-q', outside])
    await writeFile(join(outside, 'file'), 'text')
    const user = ['-c', 'user.name=a', '-c', 'user.email=a@b']
    execFileSync('git', ['-C', outside, 'add', '.'])
    execFileSync('git', ['-C', outside, ...user, 'commit', '-qm', 'one'])
    execFileSync('git', ['-C', outside, 'update-server-info'])
    const files: Record<string, Buffer> = {}
    for (const entry of await readdir(join(outside, '.git'), {
      recursive: true,
      withFileTypes: true,
    })) {
      const path = join(entry.parentPath, entry.name)
      if (entry.isFile()) files[path.slice(outside.length)] = await readFile(path)
    }
    const refs = files['/.git/info/refs']
    assert.ok(refs !== undefined)
    files['/.git/info/refs?service=git-upload-pack'] = refs
    const { url, urlAt } = await serveFiles(t, {
      ...files,
      '/away/info/refs?service=git-upload-pack': (response) =>
        void response
          .writeHead(302, { location: `${url}/.git/info/refs?service=git-upload-pack` })
          .end(),
    })
    const bench = await anArtifactBench(t, { allowsLocal: false })
    await bench.fetch({ source: `git::${urlAt(outer)}/.git` })
    assert.equal(await bench.read('local/file'), 'text')
    await assert.rejects(bench.fetch({ source: `git::${urlAt(outer)}/away` }), {
      message:
        /leads to 127\.0\.0\.1, which resolves to 127\.0\.0\.1, which this node does not allow/,
    })
  },
)

const hostileTrees: readonly {
  readonly name: string
  readonly plant: (tree: string) => Promise<unknown>
}[] = [
  { name: 'a file of another user', plant: (tree) => writeFile(join(tree, 'f'), '') },
  { name: 'a link that leads out', plant: (tree) => symlink('/etc', join(tree, 'l')) },
  {
    name: 'a hard link to a file of the machine',
    plant: (tree) => link('/etc/passwd', join(tree, 'h')),
  },
]
for (const { name, plant } of hostileTrees) {
  test(`adoptTree refuses ${name}`, needsRoot, async (t) => {
    const tree = await temporaryDirectory(t)
    if (name.includes('hard') && (await lstat(tree)).dev !== (await lstat('/etc/passwd')).dev) {
      t.skip('another file system')
      return
    }
    await plant(tree)
    if (name.includes('out')) execFileSync('chown', ['-h', '1900000001', join(tree, 'l')])
    const adoption = { fetcherUid: 1_900_000_001, newOwner: { uid: 0, gid: 0 }, entriesMax: 10 }
    await assert.rejects(adoptTree(tree, adoption), { kind: 'task-artifact' })
  })
}

test('adoptTree takes entries up to the limit, and set-user-ID bits from files', async (t) => {
  const tree = await temporaryDirectory(t)
  const to = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  await mkdir(join(tree, 'd'))
  await writeFile(join(tree, 'd/f'), '')
  await chmod(join(tree, 'd/f'), 0o6777)
  await adoptTree(tree, { fetcherUid: to.uid, newOwner: to, entriesMax: 2 })
  assert.equal((await lstat(join(tree, 'd/f'))).mode & 0o7777, 0o755)
  await assert.rejects(
    adoptTree(tree, { fetcherUid: to.uid, newOwner: to, entriesMax: 1 }),
    /more than 1 files/,
  )
})

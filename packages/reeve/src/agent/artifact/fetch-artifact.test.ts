import { AwsV4Signer } from 'aws4fetch'
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { aTar, aZip } from '../../../test/build/archive.ts'
import {
  anArtifactBench,
  serveFiles,
  type ArtifactBench,
} from '../../../test/build/artifact-bench.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import type { Fault } from '@reeve/kit/fault.ts'
import type { ArtifactRequest } from './fetch-artifact.ts'

const TREE = aTar([
  { path: 'bin/run', text: 'run', mode: 0o755 },
  { path: 'readme', text: 'hello' },
])

const FILES: Readonly<Record<string, Buffer>> = {
  '/plain': Buffer.from('plain text'),
  '/tree.tar.gz': gzipSync(TREE),
  '/tree.tar.zst': zstdCompressSync(TREE),
  '/tree.zip': aZip([{ path: 'readme', text: 'hello' }]),
  '/folder.tar': aTar([{ path: 'folder/inner', text: 'x' }]),
  '/one.gz': gzipSync('one'),
  '/evil.tar': aTar([{ path: '../../evil', text: 'x' }]),
  '/sums': Buffer.from(`${createHash('sha256').update('plain text').digest('hex')}  plain\n`),
}

interface Bench extends ArtifactBench {
  readonly url: string
  readonly headers: readonly IncomingHttpHeaders[]
}

async function aBench(t: TestContext, allowsFiles = false): Promise<Bench> {
  const { url, headers } = await serveFiles(t, FILES)
  return { ...(await anArtifactBench(t, { allowsFiles })), url, headers }
}

test('a file lands under its name, an archive is unpacked, a part of it can be asked for', async (t) => {
  const bench = await aBench(t)
  await bench.fetch({ source: `${bench.url}/plain` })
  assert.equal(await bench.read('local/plain'), 'plain text')
  for (const name of ['tree.tar.gz', 'tree.tar.zst']) {
    const parts = ['local', name]
    const destination = { root: bench.taskDir, parts }
    await bench.fetch({ source: `${bench.url}/${name}`, destination })
    assert.equal(await bench.read(`local/${name}/bin/run`), 'run')
  }
  await bench.fetch({ source: `${bench.url}/tree.tar.gz//bin` })
  assert.equal(await bench.read('local/run'), 'run')
  await bench.fetch({ source: `${bench.url}/one.gz` })
  assert.equal(await bench.read('local/one'), 'one')
  await bench.fetch({ source: `${bench.url}/tree.zip?archive=false` })
  assert.ok((await readdir(join(bench.taskDir, 'local'))).includes('tree.zip'))
  assert.deepEqual(await readdir(join(bench.taskDir, '..')), ['task'], 'nothing is left behind')
})

test('mode file makes the destination the file, mode dir wants an archive', async (t) => {
  const bench = await aBench(t)
  const destination = { root: bench.taskDir, parts: ['local', 'sub', 'config.txt'] }
  await bench.fetch({ source: `${bench.url}/plain`, mode: 'file', destination })
  assert.equal(await bench.read('local/sub/config.txt'), 'plain text')
  await assert.rejects(bench.fetch({ source: `${bench.url}/plain`, mode: 'dir' }))
  const tree = `${bench.url}/tree.tar.gz`
  const whole = { source: tree, mode: 'file', destination } as const
  await assert.rejects(bench.fetch(whole), { message: /one file is wanted, not several/ })
  const folder = { ...whole, source: `${bench.url}/folder.tar` }
  await assert.rejects(bench.fetch(folder), { message: /wanted, and "folder" is none/ })
  const run = { source: `${tree}//bin`, mode: 'file', destination } as const
  await bench.fetch(run)
  assert.equal(await bench.read('local/sub/config.txt'), 'run')
})

test('a checksum is checked, also one out of a list', async (t) => {
  const bench = await aBench(t)
  const source = `${bench.url}/plain`
  await bench.fetch({ source, options: { checksum: `file:${bench.url}/sums` } })
  await assert.rejects(bench.fetch({ source, options: { checksum: `md5:${'0'.repeat(32)}` } }), {
    kind: 'task-artifact',
    message: /the checksum is md5:/,
  })
})

test('errors name the source without its credentials', async (t) => {
  const bench = await aBench(t)
  const at = (path: string): string => bench.url.replace('//', '//user:secret@') + path
  const cases: readonly (readonly [Partial<ArtifactRequest>, string])[] = [
    [{ source: at('/plain'), options: { checksum: `md5:${'0'.repeat(32)}` } }, '/plain'],
    [{ source: at('/plain?archive=rar') }, '/plain'],
    [{ source: at('/plain'), mode: 'dir' }, '/plain'],
    [{ source: at('/evil.tar') }, '/evil.tar'],
    [{ source: at('/absent?token=secret') }, '/absent'],
    [{ source: `hg::${at('/repository')}` }, '/repository'],
    [
      { source: `s3::${at('/bucket?aws_access_key_id=a&aws_access_key_secret=secret')}` },
      '/bucket',
    ],
    [{ source: '/etc/hostname' }, '/etc/hostname'],
  ]
  for (const [request, shown] of cases)
    await assert.rejects(bench.fetch(request), ({ kind, message }: Fault) => {
      const times = message.split(shown).length - 1
      assert.deepEqual(
        [kind, times, message.includes('secret')],
        ['task-artifact', 1, false],
        message,
      )
      return true
    })
})

test('headers are sent, but not to another server', async (t) => {
  const [here, there] = [await aBench(t), await aBench(t)]
  const headers = { authorization: 'Bearer secret' }
  await here.fetch({ source: `${here.url}/to?${there.url}/plain`, headers })
  assert.equal(here.headers[0]?.authorization, 'Bearer secret')
  assert.equal(there.headers[0]?.authorization, undefined)
})

test('an object of a bucket is fetched with a signature where the options have keys', async (t) => {
  const bench = await aBench(t)
  const source = `s3::${bench.url}/tree.tar.gz?region=eu-west-1`
  await bench.fetch({ source })
  assert.equal(bench.headers[0]?.authorization, undefined, 'a public object needs no keys')
  const keys = { aws_access_key_id: 'AKIAEXAMPLE', aws_access_key_secret: 'secret-of-the-example' }
  await bench.fetch({ source, options: keys })
  assert.equal(await bench.read('local/bin/run'), 'run')
  const { authorization = '', 'x-amz-date': datetime } = bench.headers[1] ?? {}
  const wanted = await new AwsV4Signer({
    url: `${bench.url}/tree.tar.gz`,
    accessKeyId: keys.aws_access_key_id,
    secretAccessKey: keys.aws_access_key_secret,
    service: 's3',
    region: 'eu-west-1',
    datetime: String(datetime),
  }).sign()
  assert.equal(authorization, wanted.headers.get('authorization'))
  await assert.rejects(bench.fetch({ source: `s3::${bench.url}/absent` }), {
    message: /the bucket answered 404: a source names one object/,
  })
})

test('the keys of a bucket are sent to no other server', async (t) => {
  const [here, there] = [await aBench(t), await aBench(t)]
  const options = { aws_access_key_id: 'a', aws_access_key_secret: 'b', aws_access_token: 'c' }
  await here.fetch({ source: `s3::${here.url}/to?${there.url}/plain`, options })
  assert.match(here.headers[0]?.authorization ?? '', /^AWS4-HMAC-SHA256 /)
  assert.equal(there.headers[0]?.authorization, undefined)
  assert.equal(there.headers[0]?.['x-amz-security-token'], undefined)
})

const failures = [
  { name: 'a file that is not there', path: '/nothing', message: /answered 404/ },
  {
    name: 'redirects without end',
    path: '/to?/to?/to?/to?/to?/to?/to?/to?/to?/to?/to?/to?/x',
    message: /too many redirects|404/,
  },
  { name: 'a redirect to a file', path: '/to?file:///etc/passwd', message: /is no web address/ },
  { name: 'an archive that leads out', path: '/evil.tar', message: /leads out of the archive/ },
]
for (const { name, path, message } of failures) {
  test(`fetch refuses ${name}`, async (t) => {
    const bench = await aBench(t)
    await assert.rejects(bench.fetch({ source: `${bench.url}${path}` }), { message })
    assert.deepEqual(await readdir(join(bench.taskDir, 'local')), [])
  })
}

test('files of the machine are fetched only where that is allowed', async (t) => {
  const closed = await aBench(t)
  const open = await aBench(t, true)
  await writeFile(join(open.taskDir, 'source.txt'), 'mine')
  const source = `file://${join(open.taskDir, 'source.txt')}`
  await assert.rejects(closed.fetch({ source }), { kind: 'task-artifact' })
  await open.fetch({ source })
  assert.equal(await open.read('local/source.txt'), 'mine')
})

test('a link that the task planted is not followed', async (t) => {
  const bench = await aBench(t)
  const outside = await temporaryDirectory(t)
  await symlink(outside, join(bench.taskDir, 'local', 'bin'))
  await assert.rejects(bench.fetch({ source: `${bench.url}/tree.tar.gz` }), {
    kind: 'task-artifact',
    message: /in the way/,
  })
  const parts = ['local', 'bin', 'deeper']
  const destination = { root: bench.taskDir, parts }
  await assert.rejects(bench.fetch({ source: `${bench.url}/plain`, destination }))
  // A link in the place of a file is replaced.
  await writeFile(join(outside, 'victim'), 'whole')
  await symlink(join(outside, 'victim'), join(bench.taskDir, 'local', 'plain'))
  await bench.fetch({ source: `${bench.url}/plain` })
  assert.equal(await bench.read('local/plain'), 'plain text')
  assert.equal(await readFile(join(outside, 'victim'), 'utf8'), 'whole')
})

test('a repository is cloned at the wanted commit, with the modules in it', async (t) => {
  if (spawnSync('git', ['--version']).status !== 0) {
    t.skip('git is not installed')
    return
  }
  const bench = await aBench(t, true)
  const outside = await temporaryDirectory(t)
  await chmod(outside, 0o755)
  const repository = join(outside, 'repo')
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', repository, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      encoding: 'utf8',
    })
  await mkdir(repository)
  git('init', '-q')
  await writeFile(join(repository, 'file'), 'first')
  git('add', '.')
  git('commit', '-qm', 'one')
  const commit = git('rev-parse', 'HEAD').trim()
  await writeFile(join(repository, 'file'), 'second')
  git('commit', '-qam', 'two')
  await bench.fetch({ source: `git::file://${repository}`, options: { ref: commit } })
  assert.equal(await bench.read('local/file'), 'first')
  await assert.rejects(
    bench.fetch({ source: `git::file://${repository}`, options: { ref: '--upload-pack=x' } }),
  )
  await assert.rejects(bench.fetch({ source: 'git::ext::sh -c "touch /tmp/evil"' }))
  const outer = join(repository, '../outer')
  execFileSync('git', ['clone', '-q', repository, outer])
  const inOuter = ['-C', outer, '-c', 'user.name=a', '-c', 'user.email=a@b']
  const add = ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add']
  execFileSync('git', [...inOuter, ...add, `file://${repository}`, 'inner'])
  execFileSync('git', [...inOuter, 'commit', '-qm', 'three'])
  await bench.fetch({ source: `git::file://${outer}` })
  assert.equal(await bench.read('local/inner/file'), 'second')
  const closed = await aBench(t)
  await assert.rejects(closed.fetch({ source: `git::file://${repository}` }), {
    message: /git cannot fetch/,
  })
})

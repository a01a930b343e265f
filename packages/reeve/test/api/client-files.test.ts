import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { aNodeWorld, shell } from './node-world.ts'

test('files: a directory is listed, a file is told of and read, whole and in part', async (t) => {
  const { run, get } = await aNodeWorld(t)
  const { id, directory } = await run([shell('sleep 300')])
  await writeFile(join(directory, 'web/local/greeting.txt'), 'hello world\n', { mode: 0o644 })
  const listed = await get(`/v1/client/fs/ls/${id}?path=/web/local`)
  assert.equal(listed.status, 200, listed.text)
  const [file] = JSON.parse(listed.text)
  assert.deepEqual(
    [file.Name, file.IsDir, file.Size, file.FileMode],
    ['greeting.txt', false, 12, '-rw-r--r--'],
  )
  const told = JSON.parse((await get(`/v1/client/fs/stat/${id}?path=web/local/greeting.txt`)).text)
  assert.deepEqual([told.Name, told.ContentType], ['greeting.txt', 'text/plain; charset=utf-8'])
  const whole = await get(`/v1/client/fs/cat/${id}?path=web/local/greeting.txt`)
  assert.deepEqual(whole, { status: 200, text: 'hello world\n', type: 'application/octet-stream' })
  const part = await get(`/v1/client/fs/readat/${id}?path=web/local/greeting.txt&offset=6&limit=3`)
  assert.equal(part.text, 'wor')
  const root = JSON.parse((await get(`/v1/client/fs/ls/${id}`)).text)
  assert.deepEqual(
    root.map((entry: { Name: string }) => entry.Name),
    ['alloc', 'web'],
  )
  const task = JSON.parse((await get(`/v1/client/fs/ls/${id}?path=web`)).text)
  assert.ok(!task.some((entry: { Name: string }) => entry.Name === 'secrets'))
})

test('files: nothing that leads out of the allocation, waits or is secret can be read', async (t) => {
  const { run, get } = await aNodeWorld(t)
  const { id, directory } = await run([shell('sleep 300')])
  const local = join(directory, 'web/local')
  await writeFile(join(directory, 'web/secrets/key'), 'top secret')
  await writeFile(join(local, 'inside'), 'fine')
  await symlink('/etc/passwd', join(local, 'file-link'))
  await symlink('/etc', join(local, 'dir-link'))
  await symlink('/dev', join(local, 'dev-link'))
  await symlink('../secrets/key', join(local, 'secret-link'))
  await symlink('../secrets', join(local, 'secrets-link'))
  await symlink('inside', join(local, 'good-link'))
  await symlink('loop', join(local, 'loop'))
  await mkdir(join(local, 'directory'))
  execFileSync('mkfifo', [join(local, 'pipe')])
  const isRoot = process.getuid?.() === 0
  if (isRoot) execFileSync('mknod', [join(local, 'device'), 'c', '1', '5'])
  const escape = (path: string) => [403, `Path escapes the alloc directory: ${path}`] as const
  const secret = (path: string) => [403, `Reading secret file prohibited: ${path}`] as const
  const cases: readonly (readonly [string, readonly [number, string | RegExp]])[] = [
    ['../../../../etc/passwd', escape('../../../../etc/passwd')],
    ['web/local/../../../x', escape('web/local/../../../x')],
    ['web/local/file-link', escape('web/local/file-link')],
    ['web/local/dir-link/passwd', escape('web/local/dir-link/passwd')],
    ['web/local/dev-link/zero', escape('web/local/dev-link/zero')],
    ['web/secrets/key', secret('web/secrets/key')],
    ['web/secrets', secret('web/secrets')],
    ['web/secrets/absent', secret('web/secrets/absent')],
    ['/web/local/../private/absent', secret('/web/local/../private/absent')],
    ['web/local/secret-link', secret('web/local/secret-link')],
    ['web/local/secrets-link/key', secret('web/local/secrets-link/key')],
    ['/etc/passwd', [404, 'open /etc/passwd: no such file or directory']],
    ['web/local/absent', [404, 'open web/local/absent: no such file or directory']],
    ['web/local/inside/x', [404, 'open web/local/inside/x: not a directory']],
    ['web/local/loop', [400, 'open web/local/loop: too many levels of symbolic links']],
    ['web/local/pipe', [400, '"web/local/pipe" is no regular file and no directory']],
    ...(isRoot
      ? [
          [
            'web/local/device',
            [400, '"web/local/device" is no regular file and no directory'],
          ] as const,
        ]
      : []),
    ['web/local/directory', [400, 'file "web/local/directory" is a directory']],
    ['web/local/%00', [400, 'a path has no zero bytes']],
    [`web/${'x'.repeat(300)}`, [400, /file name too long$/]],
    ['web/local/good-link', [200, 'fine']],
  ]
  for (const [path, [status, text]] of cases)
    for (const route of ['cat', 'stream']) {
      if (status === 200 && route === 'stream') continue
      const query = path.includes('%') ? path : encodeURIComponent(path)
      const got = await get(`/v1/client/fs/${route}/${id}?path=${query}`)
      assert.equal(got.status, status, `${route} ${path}: ${got.text}`)
      if (typeof text === 'string') assert.equal(got.text, text, path)
      else assert.match(got.text, text)
    }
})

test('files: what is asked wrongly is refused with its text', async (t) => {
  const { run, get } = await aNodeWorld(t)
  const { id } = await run([shell('sleep 300')])
  const other = '00000000-0000-4000-8000-00000000ffff'
  const fs = '/v1/client/fs'
  const cases: readonly (readonly [string, number, string])[] = [
    [`${fs}/cat/${id}`, 400, 'must provide a file name'],
    [`${fs}/stat/${id}?path=`, 400, 'must provide a file name'],
    [`${fs}/cat/${other}?path=x`, 404, `Unknown allocation "${other}"`],
    [`${fs}/cat/short?path=x`, 400, 'alloc lookup failed: UUID must be 36 characters'],
    [
      `${fs}/readat/${id}?path=x`,
      400,
      'error parsing offset: strconv.ParseInt: parsing "": invalid syntax',
    ],
    [
      `${fs}/readat/${id}?path=x&offset=-1`,
      400,
      'error parsing offset: strconv.ParseInt: parsing "-1": invalid syntax',
    ],
    [`${fs}/stream/${id}?path=x&origin=middle`, 400, 'origin must be start or end'],
    [`${fs}/logs/${id}?type=stdout`, 400, 'must provide task name'],
    [`${fs}/logs/${id}?task=web`, 400, 'must provide log type (stdout/stderr)'],
    [`${fs}/logs/${id}?task=web&type=stdin`, 400, 'must provide log type (stdout/stderr)'],
    [`${fs}/logs/${id}?task=other&type=stdout`, 400, 'unknown task name "other"'],
    [
      `${fs}/ls/${id}?path=alloc/logs/web.stdout.0`,
      400,
      '"alloc/logs/web.stdout.0" is not a directory',
    ],
  ]
  for (const [path, status, text] of cases) {
    const got = await get(path)
    assert.deepEqual([got.status, got.text], [status, text], path)
  }
})

test('files: what a node that has left has cannot be reached', async (t) => {
  const { run, get, agent } = await aNodeWorld(t)
  const { id } = await run([shell('sleep 300')])
  await agent.stop({ killTasks: true })
  const got = await get(`/v1/client/fs/ls/${id}`)
  assert.deepEqual([got.status, got.text], [404, 'No path to node'])
})

test('files: a list of 10000 entries says nothing, one of 10001 that there are more', async (t) => {
  const { run, open } = await aNodeWorld(t)
  const { id, directory } = await run([shell('sleep 300')])
  const cwd = join(directory, 'web/local')
  const list = async () => {
    const answer = await open(`/v1/client/fs/ls/${id}?path=web/local`)
    const chunks: Buffer[] = []
    // A response that no encoding was set for gives Buffers.
    for await (const chunk of answer) chunks.push(chunk as Buffer)
    const { length } = JSON.parse(Buffer.concat(chunks).toString())
    return [length, answer.headers['x-service-truncated']]
  }
  execFileSync('/bin/sh', ['-c', 'i=0; while [ $i -lt 10000 ]; do : > $i; i=$((i+1)); done'], {
    cwd,
  })
  assert.deepEqual(await list(), [10_000, undefined])
  await writeFile(join(cwd, 'one-more'), '')
  assert.deepEqual(await list(), [10_000, 'true'])
})

test('files: one whose name is not UTF-8 is listed and read', async (t) => {
  const { run, get } = await aNodeWorld(t)
  const { id, directory } = await run([shell('sleep 300')])
  const name = Buffer.from('bad\xff\xfeutf8', 'latin1')
  await writeFile(Buffer.concat([Buffer.from(join(directory, 'web/local/')), name]), 'found')
  const [file] = JSON.parse((await get(`/v1/client/fs/ls/${id}?path=web/local`)).text)
  assert.equal(file.Name, 'bad\\xff\\xfeutf8')
  const path = encodeURIComponent(`web/local/${file.Name}`)
  assert.equal((await get(`/v1/client/fs/cat/${id}?path=${path}`)).text, 'found')
})

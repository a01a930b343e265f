import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { test, type TestContext } from 'node:test'
import { aLaunch } from '../../../test/build/launch.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { readDockerConfig } from './docker-config.ts'
import {
  requireAllowedSources,
  openMounts,
  type MountRules,
  PinnedPaths,
  parseVolume,
  addSelinuxLabel,
} from './container-mounts.ts'

const isRoot = getuid?.() === 0
const asRoot = isRoot ? {} : { skip: 'only root may mount' }

const refusedVolumes = [
  { volume: 'local/d:/x:O,upperdir=/etc,workdir=/tmp', message: /option "O" .* is not allowed/ },
  { volume: 'local/d:/x:ro,U', message: /option "U"/ },
  { volume: 'local/d:/x:idmap', message: /option "idmap"/ },
  { volume: 'local/d:/x:ro,', message: /option ""/ },
  { volume: 'local/d:/x:rO', message: /option "rO" .*; allowed are ro, rw, z, Z/ },
  { volume: 'local/d:/x:dev', message: /option "dev"/ },
  { volume: 'local/d:/x:ro:rw', message: /is not source:target/ },
  { volume: 'local/d', message: /is not source:target/ },
  { volume: ':/x', message: /is not source:target/ },
  { volume: 'local/d:x', message: /is not source:target/ },
  { volume: 'local/d\n:/x', message: /"local\/d\\n:\/x" holds control characters/ },
  { volume: 'local/d:/x\u001b[2J', message: /holds control characters/ },
]
for (const { volume, message } of refusedVolumes) {
  test(`volumes: ${JSON.stringify(volume)} is rejected`, () => {
    assert.throws(() => parseVolume(volume), { kind: 'task-config', message })
  })
}

for (const options of ['', 'ro', 'rw', 'z', 'Z', 'ro,z', 'rslave', 'rw,rshared', 'nocopy']) {
  test(`volumes: the options ${JSON.stringify(options)} are allowed`, () => {
    const volume = options === '' ? 'local/d:/x' : `local/d:/x:${options}`
    assert.deepEqual(parseVolume(volume), { source: 'local/d', target: '/x', options })
  })
}

test('volumes: the label of the node is added unless the volume has its own', () => {
  assert.equal(addSelinuxLabel('/a:/b', 'z'), '/a:/b:z')
  assert.equal(addSelinuxLabel('/a:/b:ro', 'Z'), '/a:/b:ro,Z')
  assert.equal(addSelinuxLabel('/a:/b:ro,z', 'Z'), '/a:/b:ro,z')
  assert.equal(addSelinuxLabel('/a:/b', ''), '/a:/b')
})

interface PathBench {
  readonly dir: string
  readonly outside: string
  readonly rules: (changes?: Partial<MountRules>) => MountRules
}

/** An allocation with a task, and a directory of the host beside it. */
async function openBench(t: TestContext): Promise<PathBench> {
  const dir = await temporaryDirectory(t)
  const outside = join(dir, 'outside')
  for (const name of [
    'outside',
    'alloc/data',
    'web/local',
    'web/secrets',
    'web/private',
    'state',
  ]) {
    await fs.mkdir(join(dir, name), { recursive: true })
  }
  await fs.writeFile(join(outside, 'secret'), 'of the host')
  await fs.writeFile(join(dir, 'engine.sock'), '')
  const taskDir = join(dir, 'web')
  const launch = aLaunch({
    taskDir,
    allocDir: join(dir, 'alloc'),
    localDir: join(taskDir, 'local'),
    secretsDir: join(taskDir, 'secrets'),
  })
  const rules = {
    launch,
    allowsHostPaths: false,
    socketPath: join(dir, 'engine.sock'),
    stateDir: join(dir, 'state'),
  }
  return { dir, outside, rules: (changes) => ({ ...rules, ...changes }) }
}

const withVolume = (source: string) =>
  readDockerConfig({ image: 'box:1', volumes: [`${source}:/x`] })
const withMount = (source: string) =>
  readDockerConfig({ image: 'box:1', mount: [{ type: 'bind', source, target: '/x' }] })

const refusedPaths = [
  { source: '/etc', message: /"\/etc" is outside the allocation$/ },
  { source: '../..', message: /outside the allocation$/ },
  { source: '..', message: /outside the allocation$/ },
  { source: 'private', message: /outside the allocation$/ },
  { source: 'private/x', message: /outside the allocation$/ },
  { source: '.', message: /is the directory of the task itself; mount one below it$/ },
  { source: 'local/link', message: /outside the allocation$/ },
  { source: 'local/link/secret', message: /outside the allocation$/ },
  { source: '../alloc/data/far', message: /outside the allocation$/ },
  { source: 'local/loop', message: /"local\/loop" cannot be mounted: ELOOP/ },
  { source: 'local/socket', message: /holds the socket of the container engine$/ },
]
for (const { source, message } of refusedPaths) {
  test(`volumes: ${source} is refused, as a mount too, also where the host is allowed`, async (t) => {
    const { dir, outside, rules } = await openBench(t)
    await fs.symlink(outside, join(dir, 'web/local/link'))
    await fs.symlink(outside, join(dir, 'alloc/data/far'))
    await fs.symlink('loop', join(dir, 'web/local/loop'))
    await fs.link(join(dir, 'engine.sock'), join(dir, 'web/local/socket'))
    for (const config of [withVolume(source), withMount(source)]) {
      if (source !== 'private/x') {
        await assert.rejects(requireAllowedSources(config, rules()), {
          kind: 'task-config',
          message,
        })
      }
      await assert.rejects(openMounts(config, rules()), { kind: 'task-config', message })
    }
    const isOnceInside = /^(local|private|\.$|\.\.\/alloc)/.test(source)
    if (!isOnceInside) return
    // A link that a task can plant is not a path that the job names.
    await assert.rejects(openMounts(withVolume(source), rules({ allowsHostPaths: true })), {
      message,
    })
  })
}

test('volumes: a link inside the allocation is followed', asRoot, async (t) => {
  const { dir, rules } = await openBench(t)
  await fs.writeFile(join(dir, 'alloc/data/f'), 'mine')
  await fs.symlink('../../alloc/data', join(dir, 'web/local/link'))
  const opened = await openMounts(withVolume('local/link'), rules())
  const [source = ''] = opened.binds[0]?.split(':') ?? []
  assert.equal(await fs.readFile(join(source, 'f'), 'utf8'), 'mine')
  await opened.release()
})

for (const name of ['volumes', 'mount'] as const) {
  test(`${name}: a link swapped after the check leads nowhere`, asRoot, async (t) => {
    const { dir, outside, rules } = await openBench(t)
    const victim = join(dir, 'alloc/data/x')
    await fs.mkdir(victim)
    await fs.writeFile(join(victim, 'f'), 'mine')
    const config = name === 'mount' ? withMount('../alloc/data/x') : withVolume('../alloc/data/x')
    await requireAllowedSources(config, rules())
    const opened = await openMounts(config, rules())
    await fs.rename(victim, `${victim}-old`)
    await fs.symlink(outside, victim)
    const source = opened.mounts[0]?.source ?? opened.binds[0]?.split(':')[0] ?? ''
    // What the engine finds by that name, however late it looks.
    assert.deepEqual(await fs.readdir(source), ['f'])
    await opened.release()
    assert.equal(existsSync(source), false)
    await assert.rejects(openMounts(config, rules()), /outside the allocation$/)
    assert.deepEqual(await fs.readdir(join(dir, 'state/docker-mounts')), [])
  })
}

test('volumes: a name without a slash is relative to the task, and made', asRoot, async (t) => {
  const { dir, rules } = await openBench(t)
  for (const allowOutside of [false, true]) {
    const opened = await openMounts(withVolume('conf'), rules({ allowsHostPaths: allowOutside }))
    await opened.release()
    assert.match(opened.binds[0] ?? '', /\/state\/docker-mounts\/start-1\/1:\/x$/)
  }
  assert.ok((await fs.stat(join(dir, 'web/conf'))).isDirectory())
})

test('volumes: nothing is made through a link', asRoot, async (t) => {
  const { dir, outside, rules } = await openBench(t)
  await fs.symlink(outside, join(dir, 'alloc/data/far'))
  await assert.rejects(openMounts(withVolume('../alloc/data/far/new/dir'), rules()), {
    kind: 'task-config',
  })
  assert.equal(existsSync(join(outside, 'new')), false)
})

test('volumes: with a driver of volumes the source is a name of the engine', async (t) => {
  const { rules } = await openBench(t)
  const config = readDockerConfig({ image: 'a', volumes: ['data:/x:ro'], volume_driver: 'nfs' })
  const { binds } = await openMounts(config, rules({ allowsHostPaths: true }))
  assert.deepEqual(binds, ['data:/x:ro'])
})

test('volumes: without the right to mount only directories of the agent are given', async (t) => {
  const { dir, rules } = await openBench(t)
  const unpinned = { stateDir: undefined }
  const whole = await openMounts(withVolume('local'), rules(unpinned))
  assert.deepEqual(whole.binds, [`${dir}/web/local:/x`])
  await fs.mkdir(join(dir, 'web/local/d'))
  await assert.rejects(openMounts(withVolume('local/d'), rules(unpinned)), {
    kind: 'task-config',
    message: /only an agent that runs as root can mount it safely; mount local, secrets or alloc/,
  })
  const allowed = await openMounts(
    withVolume('local/d'),
    rules({ ...unpinned, allowsHostPaths: true }),
  )
  assert.deepEqual(allowed.binds, [`${dir}/web/local/d:/x`])
})

test('volumes: what a killed agent left mounted is released, not removed', asRoot, async (t) => {
  const { dir, rules } = await openBench(t)
  await fs.writeFile(join(dir, 'web/local/keep'), 'me')
  await fs.mkdir(join(dir, 'web/local/d'))
  await fs.writeFile(join(dir, 'web/local/d/keep'), 'me')
  await openMounts(
    readDockerConfig({ image: 'a', volumes: ['local/d:/x', 'local/keep:/y'] }),
    rules(),
  )
  await PinnedPaths.releaseLeftovers(join(dir, 'state'))
  assert.deepEqual(await fs.readdir(join(dir, 'state/docker-mounts')), [])
  assert.equal(await fs.readFile(join(dir, 'web/local/d/keep'), 'utf8'), 'me')
  assert.doesNotMatch(await fs.readFile('/proc/self/mountinfo', 'utf8'), new RegExp(`${dir}/state`))
})

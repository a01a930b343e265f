import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detectLayout, planCgroups, type CgroupMount } from './cgroup.ts'
import { usageFromCounters } from './native-task.ts'

const MB = 1024 * 1024

const v1 = (controllers: string, fields: Partial<CgroupMount> = {}): CgroupMount => {
  return { path: `/cg/${controllers}`, version: 1, controllers, writable: true, ...fields }
}
const v2 = (controllers: string, path = '/cg'): CgroupMount => {
  return { path, version: 2, controllers, writable: true }
}

const ALL_V1 = [v1('memory'), v1('cpu,cpuacct'), v1('pids'), v1('freezer'), v1('cpuset')]
const named = { path: '/cg/systemd', version: 1, controllers: 'name=systemd', writable: true }

const layouts = [
  { name: 'nothing mounted', mounts: [], kind: 'none' },
  { name: 'a pure v2 machine', mounts: [v2('cpu memory pids')], kind: 'v2' },
  { name: 'a pure v1 machine', mounts: [...ALL_V1, named], kind: 'v1' },
  { name: 'a hybrid one', mounts: [...ALL_V1, v2('hugetlb', '/cg/unified')], kind: 'hybrid' },
  {
    name: 'a container that sees it read-only',
    mounts: ALL_V1.map((mount) => ({ ...mount, writable: false })),
    kind: 'none',
  },
]
for (const c of layouts) {
  test(`control groups: ${c.name} is ${c.kind}`, () => {
    assert.equal(detectLayout(c.mounts).kind, c.kind)
  })
}

const input = {
  id: 'x',
  resources: { cpuMHz: 500, cpuFraction: 0.5, cores: [], memoryMB: 64, memoryMaxMB: 128 },
  hasLimits: true,
  hasHardCpuLimit: true,
  pidsMax: 100,
  coreCount: 2,
}

test('control groups: v2 has one for everything', () => {
  const plan = planCgroups(detectLayout([v2('cpu cpuset memory pids')]), input)
  assert.deepEqual(plan, {
    cgroups: [
      {
        path: '/cg/reeve/x',
        write: [
          ['memory.max', String(128 * MB)],
          ['memory.swap.max', '0', 'try'],
          ['memory.low', String(64 * MB), 'try'],
          ['memory.oom.group', '1', 'try'],
          ['cpu.weight', '19'],
          ['cpu.max', '100000 100000'],
          ['pids.max', '100'],
        ],
      },
    ],
    killCgroup: '/cg/reeve/x',
    oomFile: '/cg/reeve/x/memory.events',
    shimCgroups: ['/cg/reeve/shims'],
  })
})

test('control groups: v1 has one for each controller, those mounted together once', () => {
  const plan = planCgroups(detectLayout(ALL_V1), input)
  assert.deepEqual(plan.cgroups, [
    {
      path: '/cg/memory/reeve/x',
      write: [
        ['memory.limit_in_bytes', String(128 * MB)],
        ['memory.memsw.limit_in_bytes', String(128 * MB), 'try'],
        ['memory.soft_limit_in_bytes', String(64 * MB), 'try'],
      ],
    },
    {
      path: '/cg/cpu,cpuacct/reeve/x',
      write: [
        ['cpu.shares', '500'],
        ['cpu.cfs_period_us', '100000'],
        ['cpu.cfs_quota_us', '100000'],
      ],
    },
    { path: '/cg/pids/reeve/x', write: [['pids.max', '100']] },
    { path: '/cg/freezer/reeve/x', write: [] },
  ])
  assert.equal(plan.killCgroup, '/cg/freezer/reeve/x')
  assert.equal(plan.oomFile, '/cg/memory/reeve/x/memory.oom_control')
})

test('control groups: a hybrid machine kills in v2 and limits in v1', () => {
  const plan = planCgroups(detectLayout([...ALL_V1, v2('hugetlb', '/cg/unified')]), input)
  assert.equal(plan.killCgroup, '/cg/unified/reeve/x')
  assert.equal(plan.oomFile, '/cg/memory/reeve/x/memory.oom_control')
  const paths = plan.cgroups.map(({ path }) => path)
  assert.ok(!paths.includes('/cg/freezer/reeve/x'))
  assert.deepEqual(plan.cgroups.find(({ path }) => path === '/cg/unified/reeve/x')?.write, [])
})

test('control groups: memory that a hybrid machine has in v2 is limited there', () => {
  const mounts = [v1('cpu'), v1('pids'), v2('memory', '/cg/unified')]
  const plan = planCgroups(detectLayout(mounts), input)
  assert.equal(plan.oomFile, '/cg/unified/reeve/x/memory.events')
})

test('cgroups: reserved cores only if they are requested', () => {
  const own = { ...input, resources: { ...input.resources, cores: [1, 3] } }
  const plan = planCgroups(detectLayout(ALL_V1), own)
  const cpuset = plan.cgroups.find(({ path }) => path.startsWith('/cg/cpuset'))
  assert.deepEqual(cpuset?.write, [['cpuset.cpus', '1,3']])
})

for (const mounts of [ALL_V1, [v2('cpu cpuset memory pids')]])
  test(`control groups: a task without limits has its cores all the same (${mounts.length})`, () => {
    const own = { ...input, hasLimits: false, resources: { ...input.resources, cores: [1] } }
    const writes = planCgroups(detectLayout(mounts), own).cgroups.flatMap(({ write }) => write)
    assert.deepEqual(writes, [['cpuset.cpus', '1']])
  })

test('control groups: without limits nothing is written', () => {
  const plan = planCgroups(detectLayout(ALL_V1), { ...input, hasLimits: false })
  assert.ok(plan.cgroups.every(({ write }) => write.length === 0))
  assert.equal(plan.killCgroup, '/cg/freezer/reeve/x')
})

test('control groups: a machine without any still runs tasks', () => {
  assert.deepEqual(planCgroups(detectLayout([]), input), { cgroups: [], shimCgroups: [] })
})

test('usage: read from v2', () => {
  const usage = usageFromCounters(
    {
      'cpu.stat':
        'usage_usec 300\nuser_usec 200\nsystem_usec 100\nnr_throttled 4\nthrottled_usec 9\n',
      'memory.current': '1000\n',
      'memory.peak': '2000\n',
      'memory.stat': 'anon 700\nfile 200\n',
      'memory.swap.current': '5\n',
      'pids.current': '3\n',
    },
    1,
  )
  assert.deepEqual(usage, {
    atMs: 1,
    cpu: {
      totalNs: 300_000,
      userNs: 200_000,
      systemNs: 100_000,
      throttledPeriods: 4,
      throttledNs: 9_000,
    },
    memory: {
      rssBytes: 700,
      cacheBytes: 200,
      swapBytes: 5,
      usageBytes: 1_000,
      maxUsageBytes: 2_000,
    },
    pids: 3,
  })
})

test('usage: read from v1', () => {
  const usage = usageFromCounters(
    {
      throttling: 'nr_periods 9\nnr_throttled 4\nthrottled_time 77\n',
      'cpuacct.usage': '123456\n',
      'cpuacct.stat': 'user 2\nsystem 1\n',
      'memory.usage_in_bytes': '1000\n',
      'memory.max_usage_in_bytes': '2000\n',
      'memory.stat': 'rss 1\ntotal_rss 700\ntotal_cache 200\ntotal_swap 5\n',
      'cgroup.procs': '7\n8\n',
    },
    1,
  )
  assert.deepEqual(usage.cpu, {
    totalNs: 123_456,
    userNs: 20_000_000,
    systemNs: 10_000_000,
    throttledPeriods: 4,
    throttledNs: 77,
  })
  assert.deepEqual([usage.memory.rssBytes, usage.memory.maxUsageBytes, usage.pids], [700, 2_000, 2])
})

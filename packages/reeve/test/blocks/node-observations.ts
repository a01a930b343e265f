import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { eventsOf } from '../agent/real-cluster.ts'
import { until } from '../build/until.ts'
import { shell, words, type Observation } from './observation.ts'

/** What a task gets of its node and of the catalogue. */
export const NODE_OBSERVATIONS: readonly Observation[] = [
  {
    name: 'constraints decide where a task may run',
    observes: words(
      'constraint.attribute constraint.operator constraint.value constraint.version',
      'constraint.semver constraint.regexp constraint.set_contains constraint.set_contains_any',
      'constraint.set_contains_all constraint.is_set constraint.is_not_set',
    ),
    job: () => withConstraints(MET),
    async check(world, jobId) {
      await world.cluster.allocation(jobId, 'complete')
      for (const constraint of UNMET) {
        const job = await world.post('/v1/jobs/parse', { JobHCL: withConstraints([constraint]) })
        const plan = await world.post(`/v1/job/${jobId}/plan`, { Job: { ...job, Priority: 51 } })
        assert.notEqual(Reflect.get(plan, 'FailedTGAllocs'), null, constraint)
      }
    },
  },
  {
    name: 'a task with cores has them alone, with any driver',
    observes: ['resources.cores'],
    job: () => `job "cores" {
      group "g" {
        task "pinned" {
          driver = "raw_exec"
          ${shell('sleep 600')}
          resources { cores = 1 }
        }
      }
    }`,
    async check(world, jobId) {
      if (availableParallelism() < 2) return
      const other = await world.run(`job "shares" {
        group "g" {
          task "shared" {
            driver = "exec"
            ${shell('while :; do sleep 1; done')}
            resources { cpu = 20 }
          }
        }
      }`)
      const pinned = await world.cluster.allocation(jobId, 'running')
      const shared = await world.cluster.allocation(other, 'running')
      const cores = async (row: typeof pinned): Promise<readonly number[]> =>
        coresOf(await world.proc(row, 'status'))
      const own = await cores(pinned)
      assert.equal(own.length, 1)
      const rest = await cores(shared)
      assert.ok(rest.length > 0 && !rest.includes(own[0] ?? -1), `${own.join()} and ${rest.join()}`)
      await world.cluster.killNode()
      await world.cluster.startNode()
      assert.deepEqual(await cores(shared), rest, 'a new agent keeps it so')
      await world.stop(jobId)
      await until('the core to be shared again', async () =>
        (await cores(shared)).includes(own[0] ?? -1) ? true : undefined,
      )
      await world.stop(other)
    },
  },
  {
    name: 'services are registered, and their checks ask',
    observes: words(
      'service.name service.provider service.port service.tags service.address service.task',
      'check.name check.type check.path check.interval check.timeout check.method check.header',
      'check.command check.args check.task check.initial_status',
      'update.health_check update.min_healthy_time update.healthy_deadline',
    ),
    job: ({ address }) => `job "served" {
      update {
        health_check     = "checks"
        min_healthy_time = "0s"
        healthy_deadline = "50s"
      }
      group "g" {
        network {
          port "http" {
            static = ${new URL(address).port}
            ignore_collision = true
          }
        }
        service {
          name     = "observed"
          provider = "service"
          port     = "http"
          tags     = ["a", "b"]
          address  = "127.0.0.1"
          task     = "main"
          check {
            name     = "asks"
            type     = "http"
            path     = "/health"
            method   = "PUT"
            interval = "1s"
            timeout  = "5s"
            header { X-Check = ["one"] }
          }
          check {
            name           = "looks"
            type           = "script"
            task           = "main"
            command        = "/bin/sh"
            args           = ["-c", "test -e /alloc/ready"]
            interval       = "10m"
            timeout        = "5s"
            initial_status = "passing"
          }
        }
        task "main" {
          driver = "exec"
          ${shell('touch /alloc/ready; sleep 600')}
        }
      }
    }`,
    async check(world, jobId) {
      await until('the deployment to succeed', async () => {
        const found = await world.get(`/v1/job/${jobId}/deployment`)
        const status = found === null ? '' : Reflect.get(Object(found), 'Status')
        assert.notEqual(status, 'failed')
        return status === 'successful' ? true : undefined
      })
      const { data } = await world.cluster.client.v1.readService({
        params: { service_name: 'observed' },
      })
      assert.equal(data[0]?.Address, '127.0.0.1')
      assert.deepEqual(data[0]?.Tags, ['a', 'b'])
      const asked = world.heard.find(({ path }) => path === '/health')
      assert.equal(asked?.method, 'PUT')
      assert.equal(asked?.headers['x-check'], 'one')
      await world.stop(jobId)
    },
  },
  {
    name: 'a service that cannot be registered is an event of its task',
    observes: ['service.address_mode'],
    job: () => `job "unmet" {
      update {
        min_healthy_time = "0s"
        healthy_deadline = "12s"
        progress_deadline = "20s"
      }
      group "g" {
        reschedule {
          attempts  = 0
          unlimited = false
        }
        network {
          port "http" {}
        }
        task "main" {
          driver = "raw_exec"
          service {
            name         = "unmet"
            port         = "http"
            address_mode = "driver"
          }
          kill_timeout = "1s"
          ${shell('sleep 600')}
        }
      }
    }`,
    async check(world, jobId) {
      const [row] = await world.cluster.allocations(jobId, 'the events', (rows) =>
        rows.some((one) => eventsOf(one, 'main').includes('Alloc Unhealthy')),
      )
      const events = row?.TaskStates?.['main']?.Events ?? []
      const failed = events.find(({ Type }) => Type === 'Task hook failed')
      assert.match(failed?.DisplayMessage ?? '', /service unmet is not registered: address_mode/)
      const unhealthy = events.find(({ Type }) => Type === 'Alloc Unhealthy')
      assert.match(unhealthy?.DisplayMessage ?? '', /service unmet is not registered/)
      await world.stop(jobId)
    },
  },
]

const KERNEL = 'attribute = "${attr.kernel.name}"'
const SIGNALS = 'attribute = "${attr.os.signals}"'
const MET: readonly string[] = [
  `${KERNEL}\n operator = "="\n value = "linux"`,
  'attribute = "${attr.service.version}"\n version = ">= 0.1"',
  'attribute = "${attr.service.version}"\n semver = ">= 0.0.1"',
  `${KERNEL}\n regexp = "^lin"`,
  `${SIGNALS}\n set_contains = "SIGTERM,SIGRTMIN+3"`,
  `${SIGNALS}\n set_contains_any = "SIGTERM,SIGNONE"`,
  `${SIGNALS}\n set_contains_all = "SIGTERM,SIGINT"`,
  `${KERNEL}\n is_set = true`,
  'attribute = "${attr.nothing}"\n is_not_set = true',
]
const UNMET: readonly string[] = [
  `${KERNEL}\n operator = "!="\n value = "linux"`,
  'attribute = "${attr.service.version}"\n version = ">= 99.0"',
  'attribute = "${attr.service.version}"\n semver = ">= 99.0.0"',
  `${KERNEL}\n regexp = "^win"`,
  `${SIGNALS}\n set_contains = "SIGTERM,SIGNONE"`,
  `${SIGNALS}\n set_contains_any = "SIGNONE"`,
  `${SIGNALS}\n set_contains_all = "SIGTERM,SIGNONE"`,
  `${KERNEL}\n is_not_set = true`,
  'attribute = "${attr.nothing}"\n is_set = true',
]

function withConstraints(constraints: readonly string[]): string {
  return `job "where" {
    type = "batch"
    ${constraints.map((one) => `constraint {\n ${one}\n }`).join('\n')}
    group "g" {
      task "main" {
        driver = "raw_exec"
        ${shell('true')}
      }
    }
  }`
}

/** The list that the kernel names, `0,2-3`, as numbers. */
function coresOf(status: string): readonly number[] {
  const [, list = ''] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status) ?? []
  return list.split(',').flatMap((part) => {
    const [first = 0, last = first] = part.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })
}

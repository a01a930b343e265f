import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { eventsOf, exitCodeOf } from '../agent/real-cluster.ts'
import { until } from '../build/until.ts'
import { shell, words, type Observation } from './observation.ts'

const FIXED_PORT = 21_877

/** An hour and a minute, as `schedule` names them, so many hours from now. */
function timeOfDay(hours: number): string {
  const time = new Date(Date.now() + hours * 3_600_000)
  return `${time.getUTCMinutes()} ${time.getUTCHours()}`
}

/** What a task feels of its own blocks. */
export const TASK_OBSERVATIONS: readonly Observation[] = [
  {
    name: 'a task reads what its job, its group and itself say',
    observes: words(
      'job.id job.name job.type job.region job.namespace job.datacenters job.node_pool job.meta',
      'group.meta group.count task.driver task.config task.user task.env task.meta',
      'resources.cpu resources.memory resources.secrets',
      'network.mode network.hostname dns.servers dns.searches dns.options port.static port.to',
    ),
    job: () => `job "label" {
      id          = "reads"
      name        = "Reads"
      type        = "batch"
      region      = "global"
      namespace   = "default"
      datacenters = ["dc*"]
      node_pool   = "default"
      meta { team = "core" }
      group "g" {
        count = 1
        meta { tier = "back" }
        network {
          mode     = "host"
          hostname = "box"
          dns {
            servers  = ["192.0.2.1"]
            searches = ["a.example"]
            options  = ["ndots:2"]
          }
          port "fixed" {
            static = ${FIXED_PORT}
            to     = 80
          }
        }
        task "main" {
          driver = "exec"
          user   = "daemon"
          env { GIVEN = "value" }
          meta { own = "task" }
          ${shell('id -un; hostname; cat /etc/resolv.conf; df -k --output=size /secrets; env')}
          resources {
            cpu     = 77
            memory  = 64
            secrets = 2
          }
        }
      }
    }`,
    async check(world, jobId) {
      assert.equal(jobId, 'reads')
      const text = await world.output(jobId)
      const wanted = [
        'daemon',
        'box',
        'nameserver 192.0.2.1',
        'search a.example',
        'options ndots:2',
        'REEVE_JOB_ID=reads',
        'REEVE_JOB_NAME=Reads',
        'REEVE_REGION=global',
        'REEVE_NAMESPACE=default',
        'REEVE_DC=dc1',
        'REEVE_META_TEAM=core',
        'REEVE_META_TIER=back',
        'REEVE_META_OWN=task',
        'GIVEN=value',
        'REEVE_CPU_LIMIT=77',
        // The memory, and that of the directory for secrets.
        'REEVE_MEMORY_LIMIT=66',
        'REEVE_GROUP_NAME=g',
        `REEVE_HOST_PORT_fixed=${FIXED_PORT}`,
        'REEVE_PORT_fixed=80',
      ]
      const lines = text.split('\n').map((line) => line.trim())
      assert.deepEqual(
        wanted.filter((line) => !lines.includes(line)),
        [],
        text,
      )
      assert.ok(lines.includes('2048'), 'the size of the directory for secrets')
      const { data } = await world.cluster.client.v1.readJob({ params: { job_id: jobId } })
      assert.equal(data.NodePool, 'default')
    },
  },
  {
    name: 'a task is ended by its signal, after its delay, or by force',
    observes: ['task.kill_signal', 'task.kill_timeout', 'task.shutdown_delay'],
    // `usr1` and not SIGUSR1; written directly into the shared directory.
    job: () => `job "ends" {
      group "g" {
        task "told" {
          driver         = "exec"
          kill_signal    = "usr1"
          kill_timeout   = "20s"
          shutdown_delay = "1s"
          ${shell('trap "echo USR1 > /alloc/told; exit 0" USR1; trap "echo INT > /alloc/told; exit 0" INT; touch /alloc/ready; while :; do sleep 0.1; done')}
        }
        task "deaf" {
          driver       = "raw_exec"
          kill_timeout = "1s"
          ${shell('trap "" INT; touch $REEVE_ALLOC_DIR/deaf; while :; do sleep 0.1; done')}
        }
      }
    }`,
    async check(world, jobId) {
      const { ID } = await world.cluster.allocation(jobId, 'running')
      const at = (name: string): string => world.cluster.path(ID, 'alloc', name)
      await until('the tasks to be ready', () =>
        existsSync(at('ready')) && existsSync(at('deaf')) ? true : undefined,
      )
      await world.stop(jobId)
      const row = await world.cluster.allocation(jobId, 'complete')
      assert.equal(await readFile(at('told'), 'utf8'), 'USR1\n')
      assert.ok(eventsOf(row, 'told').includes('Waiting for shutdown delay'))
      assert.equal(exitCodeOf(row, 'deaf'), 137)
    },
  },
  {
    name: 'a task that fails is restarted as often as its policy says',
    observes: words(
      'restart.attempts restart.delay restart.interval restart.mode',
      'reschedule.attempts reschedule.unlimited',
    ),
    job: () => `job "fails" {
      type = "batch"
      group "g" {
        reschedule {
          attempts  = 0
          unlimited = false
        }
        restart {
          attempts = 2
          delay    = "1s"
          interval = "30s"
          mode     = "fail"
        }
        task "main" {
          driver = "raw_exec"
          ${shell('exit 3')}
        }
      }
    }`,
    async check(world, jobId) {
      const row = await world.cluster.allocation(jobId, 'failed')
      const state = row.TaskStates?.['main']
      assert.equal(state?.Restarts, 2)
      const starts = (state?.Events ?? []).filter(({ Type }) => Type === 'Started')
      const gaps = starts.slice(1).map(({ Time }, i) => Time - (starts[i]?.Time ?? 0))
      assert.ok(
        gaps.every((gap) => gap >= 1e9),
        'a second between two starts at least',
      )
      const rows = await world.cluster.allocations(jobId, 'one allocation', () => true)
      assert.equal(rows.length, 1, 'nothing is placed again')
    },
  },
  {
    name: 'tasks of a group run in their stages',
    observes: ['lifecycle.hook', 'lifecycle.sidecar', 'task.leader', 'group.max_run_duration'],
    job: () => `job "stages" {
      type = "batch"
      group "g" {
        max_run_duration = "10m"
        task "before" {
          driver = "raw_exec"
          lifecycle { hook = "prestart" }
          ${shell('echo before >> $REEVE_ALLOC_DIR/data/order')}
        }
        task "beside" {
          driver = "raw_exec"
          lifecycle {
            hook    = "prestart"
            sidecar = true
          }
          ${shell('echo beside > $REEVE_ALLOC_DIR/data/beside; sleep 600')}
        }
        task "main" {
          driver = "raw_exec"
          leader = true
          ${shell('while ! test -s $REEVE_ALLOC_DIR/data/beside; do sleep 0.1; done; echo main >> $REEVE_ALLOC_DIR/data/order')}
        }
        task "after" {
          driver = "raw_exec"
          lifecycle { hook = "poststop" }
          ${shell('echo after >> $REEVE_ALLOC_DIR/data/order')}
        }
      }
    }`,
    async check(world, jobId) {
      const row = await world.cluster.allocation(jobId, 'complete')
      const order = await readFile(world.cluster.path(row.ID, 'alloc/data/order'), 'utf8')
      assert.equal(order, 'before\nmain\nafter\n')
      assert.ok(eventsOf(row, 'beside').includes('Leader Task Dead'))
    },
  },
  {
    name: 'logs are kept as far as they may be',
    observes: ['logs.max_files', 'logs.max_file_size', 'logs.disabled', 'logs.enabled'],
    job: () => `job "logs" {
      type = "batch"
      group "g" {
        task "much" {
          driver = "raw_exec"
          logs {
            max_files     = 2
            max_file_size = 1
          }
          ${shell('head -c 3500000 /dev/zero')}
        }
        task "silent" {
          driver = "raw_exec"
          logs { disabled = true }
          ${shell('echo nobody')}
        }
        task "older" {
          driver = "raw_exec"
          logs { enabled = false }
          ${shell('echo nobody')}
        }
      }
    }`,
    async check(world, jobId) {
      const { ID } = await world.cluster.allocation(jobId, 'complete')
      const names = readdirSync(world.cluster.path(ID, 'alloc/logs'))
      const much = names.filter((name) => name.startsWith('much.stdout.'))
      assert.deepEqual(much.toSorted(), ['much.stdout.2', 'much.stdout.3'])
      assert.deepEqual(
        names.filter((name) => name.startsWith('silent') || name.startsWith('older')),
        [],
      )
    },
  },
  {
    name: 'a dispatched instance reads its payload and its meta',
    observes: [
      'parameterized.payload',
      'parameterized.meta_required',
      'parameterized.meta_optional',
      'dispatch_payload.file',
    ],
    job: () => `job "asked" {
      type = "batch"
      parameterized {
        payload       = "required"
        meta_required = ["who"]
        meta_optional = ["why"]
      }
      group "g" {
        task "main" {
          driver = "raw_exec"
          dispatch_payload { file = "input" }
          ${shell('cat local/input; echo; echo $REEVE_META_WHO $REEVE_META_WHY')}
        }
      }
    }`,
    async check(world, jobId) {
      const Payload = Buffer.from('the payload').toString('base64')
      const path = `/v1/job/${jobId}/dispatch`
      const answer = await world.post(path, { Payload, Meta: { who: 'ann', why: 'test' } })
      const child = String(Reflect.get(answer, 'DispatchedJobID'))
      assert.equal(await world.output(child), 'the payload\nann test\n')
      for (const body of [{ Meta: { who: 'ann' } }, { Payload }, { Payload, Meta: { x: 'y' } }])
        await assert.rejects(world.post(path, body), /400/)
    },
  },
  {
    name: 'a task runs within its schedule only',
    observes: ['cron.start', 'cron.end', 'cron.timezone'],
    job: () => `job "hours" {
      group "g" {
        task "inside" {
          driver = "raw_exec"
          schedule {
            cron {
              start    = "${timeOfDay(-1)} * * *"
              end      = "${timeOfDay(1)}"
              timezone = "UTC"
            }
          }
          ${shell('sleep 600')}
        }
        task "outside" {
          driver = "raw_exec"
          schedule {
            cron {
              start    = "${timeOfDay(2)} * * *"
              end      = "${timeOfDay(3)}"
              timezone = "UTC"
            }
          }
          ${shell('sleep 600')}
        }
      }
    }`,
    async check(world, jobId) {
      const [row] = await world.cluster.allocations(jobId, 'one task to run, one to wait', (rows) =>
        rows.some(({ TaskStates }) => {
          const isPaused = TaskStates?.['outside']?.Paused === 'scheduled_pause'
          return isPaused && TaskStates?.['inside']?.State === 'running'
        }),
      )
      assert.equal(row?.TaskStates?.['outside']?.State, 'pending')
      await world.stop(jobId)
    },
  },
]

/** Job files whose effect is seen on a real task: each names the arguments that it proves. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { eventsOf, exitCodeOf } from '../agent/real-cluster.ts'
import { until } from '../build/until.ts'
import type { BlockWorld } from './world.ts'

export interface Observation {
  readonly name: string
  /** Arguments of the schema, as `block.argument`; each is set in `job`. */
  readonly observes: readonly string[]
  job(world: Pick<BlockWorld, 'address' | 'secureAddress'>): string
  check(world: BlockWorld, jobId: string): Promise<void>
}

const FIXED_PORT = 21_877
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A command of a shell as the driver is told it. */
const shell = (script: string): string =>
  `config {\n command = "/bin/sh"\n args = ["-c", ${JSON.stringify(script)}]\n }`

/** An hour and a minute, as `schedule` names them, so many hours from now. */
function timeOfDay(hours: number): string {
  const time = new Date(Date.now() + hours * 3_600_000)
  return `${time.getUTCMinutes()} ${time.getUTCHours()}`
}

export const OBSERVATIONS: readonly Observation[] = [
  {
    name: 'a task reads what its job, its group and itself say',
    observes: [
      'job.id job.name job.type job.region job.namespace job.datacenters job.node_pool job.meta',
      'group.meta group.count task.driver task.config task.user task.env task.meta',
      'resources.cpu resources.memory resources.secrets',
      'network.mode network.hostname dns.servers dns.searches dns.options port.static port.to',
    ].flatMap((line) => line.split(' ')),
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
      const { NodePool } = (await world.get(`/v1/job/${jobId}`)) as { readonly NodePool: string }
      assert.equal(NodePool, 'default')
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
    observes: [
      'restart.attempts restart.delay restart.interval restart.mode',
      'reschedule.attempts reschedule.unlimited',
    ].flatMap((line) => line.split(' ')),
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
    name: 'a task finds its artifacts and its templates',
    observes: [
      'artifact.source artifact.options artifact.headers artifact.mode artifact.destination',
      'artifact.chown artifact.insecure template.source template.destination template.data template.perms',
      'template.uid template.gid template.left_delimiter template.right_delimiter template.env',
      'template.change_mode',
    ].flatMap((line) => line.split(' ')),
    job: ({ address, secureAddress }) => `job "files" {
      type = "batch"
      group "g" {
        task "main" {
          driver = "exec"
          user   = "daemon"
          artifact {
            source      = "${address}/plain.txt"
            mode        = "file"
            destination = "local/fetched"
            chown       = true
            options { checksum = "sha256:${sha256('plain')}" }
            headers { X-Observed = "yes" }
          }
          artifact {
            source      = "${address}/page.tpl"
            destination = "local/"
          }
          artifact {
            source      = "${secureAddress}/secure.txt"
            destination = "local/"
            insecure    = true
          }
          template {
            source      = "local/page.tpl"
            destination = "local/page"
          }
          template {
            destination     = "local/own"
            data            = "<< env \\"REEVE_JOB_ID\\" >>"
            left_delimiter  = "<<"
            right_delimiter = ">>"
            perms           = "0640"
            uid             = 1
            gid             = 1
            change_mode     = "noop"
          }
          template {
            destination = "local/vars"
            data        = "FROM_TEMPLATE=here"
            env         = true
          }
          ${shell('cat /local/fetched; echo; cat /local/secure.txt; echo; stat -c %U /local/fetched; cat /local/page; echo; cat /local/own; echo; stat -c "%a %u:%g" /local/own; echo $FROM_TEMPLATE')}
        }
      }
    }`,
    async check(world, jobId) {
      const text = await world.output(jobId)
      const page = 'rendered from a file for main'
      const wanted = ['plain', 'secure', 'daemon', page, 'files', '640 1:1', 'here']
      assert.deepEqual(text.trim().split('\n'), wanted)
      const asked = world.heard.find(({ path }) => path.startsWith('/plain.txt'))
      assert.equal(asked?.headers['x-observed'], 'yes')
    },
  },
  {
    name: 'a task is told of changes of its templates as each says',
    observes: [
      'template.change_signal wait.min wait.max',
      'change_script.command change_script.args change_script.timeout',
      'change_script.fail_on_error change_script.run_on_first_render',
    ].flatMap((line) => line.split(' ')),
    job: () => `job "follows" {
      group "g" {
        restart {
          attempts = 0
          mode     = "fail"
        }
        reschedule {
          attempts  = 0
          unlimited = false
        }
        task "signalled" {
          driver = "raw_exec"
          template {
            destination   = "local/a"
            data          = "{{ with variable \\"service/jobs/follows\\" }}{{ .word }}{{ end }}"
            change_mode   = "signal"
            change_signal = "usr2"
            splay         = "0s"
            wait {
              min = "1s"
              max = "5s"
            }
          }
          ${shell('trap "cat local/a >> $REEVE_ALLOC_DIR/signals" USR2; touch $REEVE_ALLOC_DIR/ready; while :; do sleep 0.1; done')}
        }
        task "scripted" {
          driver = "raw_exec"
          template {
            destination = "local/b"
            data        = "{{ with variable \\"service/jobs/follows\\" }}{{ .word }}{{ end }}"
            change_mode = "script"
            splay       = "0s"
            change_script {
              command             = "/bin/sh"
              args                = ["-c", "cat local/b >> ../alloc/scripts; grep -qv stop local/b || sleep 60"]
              timeout             = "1s"
              fail_on_error       = true
              run_on_first_render = true
            }
          }
          ${shell('sleep 600')}
        }
      }
    }`,
    async check(world, jobId) {
      const { ID } = await world.cluster.allocation(jobId, 'running')
      const at = (name: string): string => world.cluster.path(ID, 'alloc', name)
      const text = async (name: string): Promise<string> =>
        existsSync(at(name)) ? await readFile(at(name), 'utf8') : ''
      await until('the first rendering to be acted on', async () =>
        (await text('scripts')) === 'one' && existsSync(at('ready')) ? true : undefined,
      )
      assert.equal(await text('signals'), '', 'the first rendering is no change')
      // Two changes within a second are gathered into one.
      await world.put('/v1/var/service/jobs/follows', { Items: { word: 'two' } })
      await world.put('/v1/var/service/jobs/follows', { Items: { word: 'three' } })
      await until('the signal', async () => ((await text('signals')) === '' ? undefined : true))
      assert.equal(await text('signals'), 'three')
      await world.put('/v1/var/service/jobs/follows', { Items: { word: 'stop' } })
      const row = await world.cluster.allocation(jobId, 'failed')
      assert.equal(row.TaskStates?.['scripted']?.Failed, true, 'its script took too long')
    },
  },
  {
    name: 'constraints decide where a task may run',
    observes: [
      'constraint.attribute constraint.operator constraint.value constraint.version',
      'constraint.semver constraint.regexp constraint.set_contains constraint.set_contains_any',
      'constraint.set_contains_all constraint.is_set constraint.is_not_set',
    ].flatMap((line) => line.split(' ')),
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
    name: 'volumes are mounted as asked and see later mounts of the host',
    observes: [
      'volume.type volume.source volume.read_only',
      'volume_mount.volume volume_mount.destination volume_mount.read_only',
      'volume_mount.propagation_mode',
    ].flatMap((line) => line.split(' ')),
    job: () => `job "volumes" {
      group "g" {
        volume "data" {
          type      = "host"
          source    = "data"
          read_only = false
        }
        task "main" {
          driver = "exec"
          volume_mount {
            volume           = "data"
            destination      = "/follows"
            propagation_mode = "host-to-task"
          }
          volume_mount {
            volume           = "data"
            destination      = "/shares"
            propagation_mode = "bidirectional"
          }
          volume_mount {
            volume      = "data"
            destination = "/fixed"
            read_only   = true
          }
          ${shell('touch /follows/written; touch /fixed/refused || touch /follows/kept; sleep 600')}
        }
      }
    }`,
    async check(world, jobId) {
      const row = await world.cluster.allocation(jobId, 'running')
      const at = (name: string): string => join(world.volume, name)
      await until('the task to write', () => (existsSync(at('kept')) ? true : undefined))
      assert.ok(existsSync(at('written')))
      const table = (await world.proc(row, 'mountinfo')).split('\n')
      const lineOf = (point: string): string =>
        table.find((line) => line.split(' ')[4] === point) ?? ''
      assert.match(lineOf('/follows'), /master:/)
      assert.match(lineOf('/shares'), /shared:/)
      assert.doesNotMatch(lineOf('/fixed'), /shared:|master:/)
      await mkdir(at('later'))
      spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', at('later')])
      await writeFile(at('later/seen'), 'yes')
      const after = await world.proc(row, 'mountinfo')
      spawnSync('umount', [at('later')])
      const points = after.split('\n').map((line) => line.split(' ')[4])
      assert.ok(points.includes('/follows/later'), after)
      assert.ok(points.includes('/shares/later'), after)
      assert.ok(!points.includes('/fixed/later'), after)
      await world.stop(jobId)
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
      assert.ok(rest.length > 0 && !rest.includes(own[0] ?? -1), `${own} and ${rest}`)
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
  {
    name: 'services are registered, and their checks ask',
    observes: [
      'service.name service.provider service.port service.tags service.address service.task',
      'check.name check.type check.path check.interval check.timeout check.method check.header',
      'check.command check.args check.task check.initial_status',
      'update.health_check update.min_healthy_time update.healthy_deadline',
    ].flatMap((line) => line.split(' ')),
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
      const [entry] = (await world.get('/v1/service/observed')) as Record<string, unknown>[]
      assert.equal(entry?.['Address'], '127.0.0.1')
      assert.deepEqual(entry?.['Tags'], ['a', 'b'])
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
        healthy_deadline = "5s"
        progress_deadline = "10s"
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
  'attribute = "${attr.kernel.version}"\n version = ">= 3.0"',
  'attribute = "${attr.kernel.version}"\n semver = ">= 3.0.0"',
  `${KERNEL}\n regexp = "^lin"`,
  `${SIGNALS}\n set_contains = "SIGTERM,SIGRTMIN+3"`,
  `${SIGNALS}\n set_contains_any = "SIGTERM,SIGNONE"`,
  `${SIGNALS}\n set_contains_all = "SIGTERM,SIGINT"`,
  `${KERNEL}\n is_set = true`,
  'attribute = "${attr.nothing}"\n is_not_set = true',
]
const UNMET: readonly string[] = [
  `${KERNEL}\n operator = "!="\n value = "linux"`,
  'attribute = "${attr.kernel.version}"\n version = ">= 99.0"',
  'attribute = "${attr.kernel.version}"\n semver = ">= 99.0.0"',
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

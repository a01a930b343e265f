import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../build/until.ts'
import { shell, words, type Observation } from './observation.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** What a task finds in its directories. */
export const FILE_OBSERVATIONS: readonly Observation[] = [
  {
    name: 'a task finds its artifacts and its templates',
    observes: words(
      'artifact.source artifact.options artifact.headers artifact.mode artifact.destination',
      'artifact.chown artifact.insecure template.source template.destination template.data template.perms',
      'template.uid template.gid template.left_delimiter template.right_delimiter template.env',
      'template.change_mode',
    ),
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
    observes: words(
      'template.change_signal wait.min wait.max',
      'change_script.command change_script.args change_script.timeout',
      'change_script.fail_on_error change_script.run_on_first_render',
    ),
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
    name: 'volumes are mounted as asked and see later mounts of the host',
    observes: words(
      'volume.type volume.source volume.read_only',
      'volume_mount.volume volume_mount.destination volume_mount.read_only',
      'volume_mount.propagation_mode',
    ),
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
]

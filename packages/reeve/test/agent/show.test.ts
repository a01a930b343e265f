/** What a person sees: a terminal in a task, a job with hooks, an agent that dies and is back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExecSession } from '@reeve/sdk'
import { until } from '../build/until.ts'
import {
  eventsOf,
  exitCodeOf,
  isRunning,
  noIsolation,
  RealCluster,
  textOf,
  WITHIN_MS,
} from './real-cluster.ts'

const options = { skip: noIsolation, timeout: 300_000 }

function aTask(name: string, script: string, Lifecycle?: object) {
  return {
    Name: name,
    Driver: 'exec',
    Config: { command: '/bin/sh', args: ['-c', script] },
    Resources: { CPU: 1, MemoryMB: 64 },
    KillTimeout: 5e9,
    ...(Lifecycle === undefined ? {} : { Lifecycle }),
  }
}

/** Each task says in one file when it begins and when it ends. */
const say = (what: string): string => `echo ${what} >> /alloc/data/story`

/** Three tasks: one before, the work itself, one after. */
const JOB = {
  ID: 'show',
  TaskGroups: [
    {
      Name: 'group',
      Tasks: [
        aTask('fetch', `${say('fetched')}; echo material > /alloc/data/material`, {
          Hook: 'prestart',
          Sidecar: false,
        }),
        aTask(
          'work',
          `cat /alloc/data/material; ${say('working')}
trap '${say('stopping')}; exit 0' INT
echo $$; while :; do sleep 0.1; done`,
        ),
        aTask('tidy', say('tidied'), { Hook: 'poststop', Sidecar: false }),
      ],
    },
  ],
}

/** A person at a terminal: types, and reads what appears. */
class Person {
  readonly #session: ExecSession
  #screen = ''

  constructor(session: ExecSession) {
    this.#session = session
    void this.#read()
  }

  async #read(): Promise<void> {
    for await (const piece of this.#session.stdout) this.#screen += Buffer.from(piece).toString()
  }

  async types(text: string): Promise<void> {
    await this.#session.stdin.write(text)
  }

  async reads(pattern: RegExp): Promise<void> {
    await until(
      `${pattern.source} on the terminal`,
      () => (pattern.test(this.#screen) ? true : undefined),
      WITHIN_MS,
    ).catch((thrown: unknown) => {
      throw new Error(`${String(thrown)}, which shows ${JSON.stringify(this.#screen)}`)
    })
  }
}

test(
  'show: three tasks with hooks, a terminal with a resize and Ctrl-C, an agent killed and back',
  options,
  async (t) => {
    const cluster = await RealCluster.open(t)
    await cluster.run(JOB)
    const { ID } = await cluster.allocation('show', 'running')
    const story = (): Promise<string> => textOf(cluster.path(ID, 'alloc/data/story'))
    const isSaid = async (text: string): Promise<void> => {
      await until(
        `the story ${text}`,
        async () => ((await story()) === text ? true : undefined),
        WITHIN_MS,
      )
    }
    await isSaid('fetched\nworking\n')
    // A task writes before its node has noted that it has started.
    const readLog = () => cluster.log(ID, 'work').catch(() => undefined)
    assert.match(await until('the log of the task', readLog, WITHIN_MS), /^material\n\d+\n$/)

    const session = await cluster.client.exec({
      allocId: ID,
      task: 'work',
      command: ['/bin/sh'],
      tty: true,
      size: { height: 30, width: 90 },
    })
    const person = new Person(session)
    await person.types('stty size; tty; id -u\r')
    await person.reads(/30 90\r\n\/dev\/pts\/\d+\r\n65534\r\n/)
    session.resize({ height: 50, width: 132 })
    await person.types('stty size\r')
    await person.reads(/50 132\r\n/)
    await person.types('sleep 1000; echo came back with $?\r')
    await person.reads(/sleep 1000/)
    await person.types('\x03')
    await person.types('echo still here: $?\r')
    await person.reads(/still here: 130\r\n/)
    await person.types('exit 7\r')
    assert.equal(await session.exit, 7)

    const [record] = cluster.records().filter(({ taskPid }) => isRunning(taskPid))
    assert.ok(record !== undefined)
    await cluster.killNode()
    assert.ok(isRunning(record.taskPid))
    await cluster.startNode()
    // A node that is back may still be looking for its tasks.
    const status = await until(
      'the task to be reached again',
      () => hostnameIn(cluster, ID).catch(() => undefined),
      WITHIN_MS,
    )
    assert.equal(status, 0)
    assert.ok(isRunning(record.taskPid))
    assert.equal(await story(), 'fetched\nworking\n')

    await cluster.client.v1.stopJob({ params: { job_id: 'show' } })
    const ended = await cluster.allocation('show', 'complete')
    await isSaid('fetched\nworking\nstopping\ntidied\n')
    assert.equal(exitCodeOf(ended, 'work'), 0)
    assert.deepEqual(eventsOf(ended, 'work'), [
      'Received',
      'Task Setup',
      'Started',
      'Killing',
      'Terminated',
      'Killed',
    ])
  },
)

async function hostnameIn({ client }: RealCluster, allocId: string): Promise<number> {
  const session = await client.exec({ allocId, task: 'work', command: ['hostname'] })
  return await session.exit
}

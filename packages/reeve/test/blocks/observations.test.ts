/** Every argument of a job file that tasks feel, tried on a real node that all jobs share. */
import { test } from 'node:test'
import { noIsolation } from '../agent/real-cluster.ts'
import { OBSERVATIONS } from './observations.ts'
import { BlockWorld } from './world.ts'

const ALL_MS_MAX = 180_000

/** Restarts the agent of the node, so it runs when nobody else is. */
const LAST = 'a task with cores has them alone, with any driver'

test(
  'job files on a real node',
  { skip: noIsolation, timeout: ALL_MS_MAX, concurrency: true },
  async (t) => {
    const world = await BlockWorld.open(t)
    const beside = OBSERVATIONS.filter(({ name }) => name !== LAST)
    // Their jobs run side by side: each waits mostly for its own tasks.
    await Promise.all(
      beside.map((one) =>
        t.test(one.name, async () => one.check(world, await world.run(one.job(world)))),
      ),
    )
    for (const one of OBSERVATIONS.filter(({ name }) => name === LAST))
      await t.test(one.name, async () => one.check(world, await world.run(one.job(world))))
  },
)

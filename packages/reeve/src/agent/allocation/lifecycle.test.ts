import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { coordinateTasks, stageOf, type Stage, type CoordinatedTask } from './lifecycle.ts'

type Short = readonly [name: string, stage: Stage, state: string, leader?: 'leader']

/** `new`: not admitted; `pending`: admitted and not running. */
function task([name, stage, state, leader]: Short): CoordinatedTask {
  const State = state === 'running' ? 'running' : state.startsWith('dead') ? 'dead' : 'pending'
  return {
    name,
    stage,
    isLeader: leader === 'leader',
    isAdmitted: state !== 'new',
    state: { State, Failed: state === 'dead-failed' },
  }
}

const cases: readonly {
  readonly name: string
  readonly tasks: readonly Short[]
  readonly admit?: readonly string[]
  readonly end?: string
  readonly done?: boolean
}[] = [
  {
    name: 'a group of main tasks begins at once',
    tasks: [
      ['a', 'main', 'new'],
      ['b', 'main', 'new'],
    ],
    admit: ['a', 'b'],
  },
  {
    name: 'main waits for prestart',
    tasks: [
      ['init', 'prestart', 'running'],
      ['a', 'main', 'new'],
    ],
  },
  {
    name: 'main waits for the sidecar to run',
    tasks: [
      ['init', 'prestart', 'dead'],
      ['proxy', 'prestart-sidecar', 'pending'],
      ['a', 'main', 'new'],
    ],
  },
  {
    name: 'main begins when prestart succeeded and the sidecar runs',
    tasks: [
      ['init', 'prestart', 'dead'],
      ['proxy', 'prestart-sidecar', 'running'],
      ['a', 'main', 'new'],
    ],
    admit: ['a'],
  },
  {
    name: 'a failed prestart task ends the group',
    tasks: [
      ['init', 'prestart', 'dead-failed'],
      ['a', 'main', 'new'],
    ],
    end: 'sibling-failed',
  },
  {
    name: 'a sidecar between two runs shuts nobody out',
    tasks: [
      ['proxy', 'prestart-sidecar', 'pending'],
      ['a', 'main', 'running'],
      ['late', 'poststart', 'new'],
    ],
    admit: ['late'],
  },
  {
    name: 'poststart waits until every main task has left pending',
    tasks: [
      ['a', 'main', 'running'],
      ['b', 'main', 'pending'],
      ['late', 'poststart', 'new'],
    ],
  },
  {
    name: 'sidecars alone are ended',
    tasks: [
      ['proxy', 'prestart-sidecar', 'running'],
      ['a', 'main', 'dead'],
      ['side', 'poststart-sidecar', 'running'],
    ],
    end: 'main-dead',
  },
  {
    name: 'a poststart task that still runs keeps the sidecars',
    tasks: [
      ['proxy', 'prestart-sidecar', 'running'],
      ['a', 'main', 'dead'],
      ['late', 'poststart', 'running'],
    ],
  },
  {
    name: 'the leader comes before a failure',
    tasks: [
      ['a', 'main', 'dead-failed', 'leader'],
      ['b', 'main', 'running'],
    ],
    end: 'leader-dead',
  },
  {
    name: 'poststop begins when all others are dead, also after a failure',
    tasks: [
      ['a', 'main', 'dead-failed'],
      ['after', 'poststop', 'new'],
    ],
    admit: ['after'],
  },
  {
    name: 'a failed poststop task ends nobody',
    tasks: [
      ['a', 'main', 'dead'],
      ['x', 'poststop', 'dead-failed'],
      ['y', 'poststop', 'running'],
    ],
  },
  {
    name: 'main waits for every prestart task',
    tasks: [
      ['one', 'prestart', 'dead'],
      ['two', 'prestart', 'running'],
      ['a', 'main', 'new'],
    ],
  },
  {
    name: 'a failed sidecar ends the group',
    tasks: [
      ['proxy', 'prestart-sidecar', 'dead-failed'],
      ['a', 'main', 'running'],
    ],
    end: 'sibling-failed',
  },
  {
    name: 'a failed poststart task ends the group',
    tasks: [
      ['a', 'main', 'running'],
      ['late', 'poststart', 'dead-failed'],
    ],
    end: 'sibling-failed',
  },
  {
    name: 'a sidecar that ended well ends nobody',
    tasks: [
      ['proxy', 'prestart-sidecar', 'dead'],
      ['a', 'main', 'running'],
    ],
  },
  {
    name: 'poststart begins also after a main task that was quick to end',
    tasks: [
      ['a', 'main', 'dead'],
      ['late', 'poststart', 'new'],
    ],
    admit: ['late'],
  },
  {
    name: 'poststop waits for the sidecars to end',
    tasks: [
      ['a', 'main', 'dead'],
      ['side', 'poststart-sidecar', 'running'],
      ['after', 'poststop', 'new'],
    ],
    end: 'main-dead',
  },
  {
    name: 'a leader that succeeded ends the others, and poststop waits for them',
    tasks: [
      ['a', 'main', 'dead', 'leader'],
      ['b', 'main', 'running'],
      ['after', 'poststop', 'new'],
    ],
    end: 'leader-dead',
  },
  {
    name: 'all dead is done',
    tasks: [
      ['a', 'main', 'dead'],
      ['after', 'poststop', 'dead'],
    ],
    done: true,
  },
]
for (const c of cases) {
  test(`decideGroup: ${c.name}`, () => {
    const decision = coordinateTasks(c.tasks.map(task))
    assert.deepEqual(decision.admit, c.admit ?? [])
    assert.equal(decision.killReason?.kind, c.end)
    assert.equal(decision.isDone, c.done ?? false)
  })
}

test('decideGroup: no task starts in an ending group, and no dead task starts', () => {
  const stages: readonly Stage[] = [
    'prestart',
    'prestart-sidecar',
    'main',
    'poststart',
    'poststart-sidecar',
    'poststop',
  ]
  const anyTask = fc.record({
    stage: fc.constantFrom(...stages),
    state: fc.constantFrom('new', 'pending', 'running', 'dead', 'dead-failed'),
    leader: fc.constantFrom('leader' as const, undefined),
  })
  fc.assert(
    fc.property(fc.array(anyTask, { minLength: 1, maxLength: 6 }), (shapes) => {
      const tasks = shapes.map(({ stage, state, leader }, index) => {
        return task(
          leader === undefined ? [`t${index}`, stage, state] : [`t${index}`, stage, state, leader],
        )
      })
      const decision = coordinateTasks(tasks)
      if (decision.killReason !== undefined) assert.deepEqual(decision.admit, [])
      for (const name of decision.admit) {
        const admitted = tasks.find((one) => one.name === name)
        assert.equal(admitted?.isAdmitted, false)
        assert.notEqual(admitted?.state.State, 'dead')
      }
      assert.equal(
        decision.isDone,
        tasks.every((one) => one.state.State === 'dead'),
      )
    }),
  )
})

const stages = [
  { lifecycle: null, stage: 'main' },
  { lifecycle: { Hook: 'prestart', Sidecar: false }, stage: 'prestart' },
  { lifecycle: { Hook: 'prestart', Sidecar: true }, stage: 'prestart-sidecar' },
  { lifecycle: { Hook: 'poststart', Sidecar: false }, stage: 'poststart' },
  { lifecycle: { Hook: 'poststart', Sidecar: true }, stage: 'poststart-sidecar' },
  { lifecycle: { Hook: 'poststop', Sidecar: false }, stage: 'poststop' },
]
for (const c of stages) {
  test(`stageOf: ${JSON.stringify(c.lifecycle)} is ${c.stage}`, () => {
    assert.equal(stageOf(c.lifecycle), c.stage)
  })
}

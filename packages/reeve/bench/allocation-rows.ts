import { allocationName, encodeTopScores, type AllocationRow } from '../src/model/index.ts'
import { aJob, anAllocation } from '../test/build/index.ts'

const JOBS = 1_000
const NODES = 5_000
const JOB = aJob()
const MADE_NS = 1_794_712_353_000_000_000

/**
 * An allocation of a busy cluster: its task runs and has three events, and the scheduler scored
 * five nodes.
 */
export function anAllocationRow(at: number): AllocationRow {
  const jobId = `service-${at % JOBS}`
  return anAllocation({
    job: JOB,
    ID: idOf('allocation', at),
    EvalID: idOf('evaluation', Math.floor(at / 10)),
    Name: allocationName(jobId, 'app', Math.floor(at / JOBS)),
    NodeID: idOf('node', at % NODES),
    NodeName: `worker-${at % NODES}`,
    JobID: jobId,
    ClientDescription: 'Tasks are running',
    TaskStates: { main: { State: 'running', StartedAt: STARTED, Events: EVENTS } },
    Metrics: {
      NodesEvaluated: NODES,
      NodesInPool: NODES,
      NodePool: 'default',
      NodesAvailable: { dc1: NODES },
      AllocationTime: 812_345 + at,
      Best: encodeTopScores(
        [0, 1, 2, 3, 4].map((place) => [idOf('node', (at + place) % NODES), 0.9 - place / 16]),
      ),
    },
    CreateTime: MADE_NS,
    ModifyTime: MADE_NS,
  })
}

const STARTED = '2026-11-15T03:12:33.370Z'
const EVENTS = [
  { Type: 'Received', Time: MADE_NS, DisplayMessage: 'Task received by the node' },
  {
    Type: 'Task Setup',
    Time: MADE_NS,
    DisplayMessage: 'Building Task Directory',
    Message: 'Building Task Directory',
    Details: { message: 'Building Task Directory' },
  },
  { Type: 'Started', Time: MADE_NS, DisplayMessage: 'Task started by the node' },
]

const KINDS = ['allocation', 'evaluation', 'node'] as const

/** Unordered ids like real ones, so that rows are inserted at random positions. */
function idOf(kind: (typeof KINDS)[number], at: number): string {
  const number = at * KINDS.length + KINDS.indexOf(kind)
  // Multiplication by an odd number is a bijection on 32 bits: ids are unique.
  const mixed = (Math.imul(number, 2_654_435_761) >>> 0).toString(16).padStart(8, '0')
  const plain = number.toString(16).padStart(12, '0')
  return `${mixed}-${mixed.slice(4)}-4${mixed.slice(0, 3)}-8${mixed.slice(3, 6)}-${plain}`
}

import type { ChangeStep, Job, PlacementChange, TaskGroup } from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { AllocationRow, NodeUsage, PublicNode } from '../../model/index.ts'
import { canPreempt, preemptionSetting, withPreemption } from '../preempt/can-preempt.ts'
import type { PlacementSettings } from '../view.ts'
import { remediesFor, type Remedies, type TriedStep } from './change-steps.ts'
import type { RefusingNode } from './refusals.ts'
import { bothWorlds, type World } from './trial.ts'

/** Every change that is told was tried, and a trial costs as much as an evaluation. */
const CHANGES_TRIED = 16
const CHANGES_TOLD = 5
const NODES_NAMED = 5
/** A new machine is more than any edit. */
const ADD_NODE_SIZE = 2
const PREEMPTION_SIZE = 1.5
const NEW_NODE_ID = 'ffffffff-ffff-4fff-bfff-ffffffffffff'

export interface ChangeOptions {
  readonly job: Job
  readonly group: TaskGroup
  /** The nearest to fitting first. */
  readonly refusing: readonly RefusingNode[]
  /** What runs on a node now, without what was tried. */
  readonly usageOn: (nodeId: string) => NodeUsage
  /** How many of the missing instances would be placed as things are. */
  readonly placedNow: number
  readonly settings: PlacementSettings
  /** What would be placed of the missing instances in another world. */
  readonly tryIn: (world: World) => Steps<readonly AllocationRow[]>
}

interface Candidate {
  readonly steps: readonly TriedStep[]
  readonly size: number
}

/** Changes that place at least one more instance, the smallest first. Each of them was tried. */
export function* smallestChanges(options: ChangeOptions): Steps<readonly PlacementChange[]> {
  const candidates = candidateChanges(options)
    .toSorted((a, b) => a.size - b.size || compareText(textOf(a), textOf(b)))
    .slice(0, CHANGES_TRIED)
  const changes: PlacementChange[] = []
  for (const candidate of candidates) {
    if (changes.length === CHANGES_TOLD) break
    const world = candidate.steps.reduce<World>((all, { world: one }) => bothWorlds(all, one), {})
    const placed = yield* options.tryIn(world)
    const places = placed.length - options.placedNow
    if (places > 0) changes.push(changeOf(candidate, places, placed))
  }
  return changes
}

function candidateChanges(options: ChangeOptions): readonly Candidate[] {
  const known = new Map<string, Candidate>()
  const add = (steps: readonly TriedStep[] | undefined): void => {
    if (steps === undefined || steps.length === 0) return
    const candidate = { steps, size: steps.reduce((sum, { size }) => sum + size, 0) }
    const name = textOf(candidate)
    if (!known.has(name)) known.set(name, candidate)
  }
  add(addNode(options))
  add(allowPreemption(options))
  for (const one of options.refusing) {
    if (known.size >= CHANGES_TRIED) break
    const remedies = one.reasons.map((reason) => {
      return remediesFor(reason, { ...options, node: one.node })
    })
    add(whole(remedies, ({ job }) => job))
    add(whole(remedies, ({ node }) => node))
    add(whole(remedies, ({ job, node }) => node ?? job))
  }
  return [...known.values()]
}

/** A change helps only if it removes every reason of a node. */
function whole(
  remedies: readonly Remedies[],
  choose: (remedies: Remedies) => TriedStep | undefined,
): readonly TriedStep[] | undefined {
  const steps = remedies.map(choose).filter((step) => step !== undefined)
  return steps.length === remedies.length ? steps : undefined
}

/** Another node like the nearest that would do if it were empty. */
function addNode({ refusing }: ChangeOptions): readonly TriedStep[] | undefined {
  const like = refusing.find(({ reasons }) =>
    reasons.every(({ Rule: rule, Shortfall: short }) => {
      if (rule === 'distinct-hosts') return true
      return short !== null && short.Capacity >= short.Asked
    }),
  )?.node
  if (like === undefined) return undefined
  const added: PublicNode = { ...like, ID: NEW_NODE_ID, Name: `another ${like.Name}` }
  return [
    {
      step: {
        Kind: 'add-node',
        Path: '',
        NodeID: '',
        From: '',
        To: like.Name,
        Text: `add a node like ${like.Name}`,
      },
      world: { added },
      size: ADD_NODE_SIZE,
    },
  ]
}

/** For all jobs of the type: that is more than an edit of one. */
function allowPreemption({ job, settings }: ChangeOptions): readonly TriedStep[] | undefined {
  if (canPreempt(job, settings)) return undefined
  const step = {
    Kind: 'set-scheduler' as const,
    Path: `PreemptionConfig.${preemptionSetting(job)}`,
    NodeID: '',
    From: 'false',
    To: 'true',
    Text: `let ${job.Type} jobs displace others of lower priority (preemption)`,
  }
  return [{ step, world: { preemption: withPreemption(job, settings) }, size: PREEMPTION_SIZE }]
}

function changeOf(
  candidate: Candidate,
  places: number,
  placed: readonly AllocationRow[],
): PlacementChange {
  const nodes = new Map(placed.map((row) => [row.NodeID, row.NodeName]))
  nodes.delete(NEW_NODE_ID)
  return {
    Steps: candidate.steps.map(({ step }) => step),
    Places: places,
    Nodes: [...nodes].slice(0, NODES_NAMED).map(([ID, Name]) => ({ ID, Name })),
    Text: textOf(candidate),
  }
}

function textOf({ steps }: Candidate): string {
  return changeText(steps.map(({ step }) => step))
}

/** A change as a sentence, with the lines of the job file that are known. */
export function changeText(steps: readonly ChangeStep[]): string {
  return steps
    .map(({ Text, Place }) => (Place === undefined ? Text : `${Text} (line ${Place.Line})`))
    .join(', and ')
}

import type { ChangeStep, Job, PlacementChange, TaskGroup } from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { AllocationRow, NodeUsage, PublicNode } from '../../model/index.ts'
import { canPreempt, preemptionSetting, enablePreemption } from '../preemption/preemptor.ts'
import type { PlacementSettings } from '../cluster-view.ts'
import { remediesFor, type Remedies, type RemedyStep } from './remedy-steps.ts'
import type { RejectedNode } from './rejections.ts'
import { combineChanges, type WhatIfChange } from './what-if-view.ts'

/** Every returned change was tried, and each trial costs as much as an evaluation. */
const CHANGES_TRIED_MAX = 16
const CHANGES_RETURNED_MAX = 5
const NODES_LISTED_MAX = 5
/** Adding a node costs more than any edit. */
const ADD_NODE_COST = 2
const PREEMPTION_COST = 1.5
const HYPOTHETICAL_NODE_ID = 'ffffffff-ffff-4fff-bfff-ffffffffffff'

interface RemedySearchOptions {
  readonly job: Job
  readonly group: TaskGroup
  /** Sorted by distance, nearest first. */
  readonly rejectedNodes: readonly RejectedNode[]
  /** Usage of a node in the current state, without trial placements. */
  readonly usageOn: (nodeId: string) => NodeUsage
  /** Number of missing allocations that can be placed without a change. */
  readonly placedWithoutChange: number
  readonly settings: PlacementSettings
  /** Places the missing allocations under the given change and returns the placed ones. */
  readonly placeWith: (world: WhatIfChange) => Steps<readonly AllocationRow[]>
}

interface CandidateChange {
  readonly steps: readonly RemedyStep[]
  readonly size: number
}

/** Returns the changes that place at least one more allocation, smallest first. Each was tried. */
export function* smallestRemedies(options: RemedySearchOptions): Steps<readonly PlacementChange[]> {
  const candidates = candidateChanges(options)
    .toSorted((a, b) => a.size - b.size || compareText(candidateText(a), candidateText(b)))
    .slice(0, CHANGES_TRIED_MAX)
  const changes: PlacementChange[] = []
  for (const candidate of candidates) {
    if (changes.length === CHANGES_RETURNED_MAX) break
    const change = candidate.steps.reduce<WhatIfChange>(
      (all, { change: other }) => combineChanges(all, other),
      {},
    )
    const placed = yield* options.placeWith(change)
    const placedCount = placed.length - options.placedWithoutChange
    if (placedCount > 0) changes.push(toPlacementChange(candidate, placedCount, placed))
  }
  return changes
}

function candidateChanges(options: RemedySearchOptions): readonly CandidateChange[] {
  const byText = new Map<string, CandidateChange>()
  const add = (steps: readonly RemedyStep[] | undefined): void => {
    if (steps === undefined || steps.length === 0) return
    const candidate = { steps, size: steps.reduce((sum, { size }) => sum + size, 0) }
    const text = candidateText(candidate)
    if (!byText.has(text)) byText.set(text, candidate)
  }
  add(addNode(options))
  add(enablePreemptionStep(options))
  for (const rejected of options.rejectedNodes) {
    if (byText.size >= CHANGES_TRIED_MAX) break
    const remedies = rejected.reasons.map((reason) => {
      return remediesFor(reason, { ...options, node: rejected.node })
    })
    add(completeRemedy(remedies, ({ job }) => job))
    add(completeRemedy(remedies, ({ node }) => node))
    add(completeRemedy(remedies, ({ job, node }) => node ?? job))
  }
  return [...byText.values()]
}

/** Combines one step per reason; undefined unless every reason of the node has one. */
function completeRemedy(
  remedies: readonly Remedies[],
  choose: (remedies: Remedies) => RemedyStep | undefined,
): readonly RemedyStep[] | undefined {
  const steps = remedies.map(choose).filter((step) => step !== undefined)
  return steps.length === remedies.length ? steps : undefined
}

/** Suggests another node like the nearest one that would fit the allocation if it were empty. */
function addNode({ rejectedNodes }: RemedySearchOptions): readonly RemedyStep[] | undefined {
  const template = rejectedNodes.find(({ reasons }) =>
    reasons.every(({ Rule: rule, Shortfall: shortfall }) => {
      if (rule === 'distinct-hosts') return true
      return shortfall !== null && shortfall.Capacity >= shortfall.Asked
    }),
  )?.node
  if (template === undefined) return undefined
  const added: PublicNode = {
    ...template,
    ID: HYPOTHETICAL_NODE_ID,
    Name: `another ${template.Name}`,
  }
  return [
    {
      step: {
        Kind: 'add-node',
        Path: '',
        NodeID: '',
        From: '',
        To: template.Name,
        Text: `add a node like ${template.Name}`,
      },
      change: { addedNode: added },
      size: ADD_NODE_COST,
    },
  ]
}

/** Suggests enabling preemption for the job type, which costs more than editing one job. */
function enablePreemptionStep({
  job,
  settings,
}: RemedySearchOptions): readonly RemedyStep[] | undefined {
  if (canPreempt(job, settings)) return undefined
  const step = {
    Kind: 'set-scheduler' as const,
    Path: `PreemptionConfig.${preemptionSetting(job)}`,
    NodeID: '',
    From: 'false',
    To: 'true',
    Text: `let ${job.Type} jobs displace others of lower priority (preemption)`,
  }
  return [{ step, change: { preemption: enablePreemption(job, settings) }, size: PREEMPTION_COST }]
}

function toPlacementChange(
  candidate: CandidateChange,
  placedCount: number,
  placed: readonly AllocationRow[],
): PlacementChange {
  const nodes = new Map(placed.map((row) => [row.NodeID, row.NodeName]))
  nodes.delete(HYPOTHETICAL_NODE_ID)
  return {
    Steps: candidate.steps.map(({ step }) => step),
    Places: placedCount,
    Nodes: [...nodes].slice(0, NODES_LISTED_MAX).map(([ID, Name]) => ({ ID, Name })),
    Text: candidateText(candidate),
  }
}

function candidateText({ steps }: CandidateChange): string {
  return changeText(steps.map(({ step }) => step))
}

/** Formats a change as a sentence, with line numbers of the job file where known. */
export function changeText(steps: readonly ChangeStep[]): string {
  return steps
    .map(({ Text, Place }) => (Place === undefined ? Text : `${Text} (line ${Place.Line})`))
    .join(', and ')
}

import type { Node } from '@reeve/contract'

/** Combines status, drain and eligibility into one state: `ready` means schedulable. */
export function nodeState(node: Pick<Node, 'Status' | 'Drain' | 'SchedulingEligibility'>): string {
  if (node.Status !== 'ready') return node.Status
  if (node.Drain) return 'draining'
  return node.SchedulingEligibility === 'ineligible' ? 'ineligible' : 'ready'
}

/** The states of `nodeState` as filter expressions. */
const NODE_FILTERS = {
  ready: 'Status == "ready" and SchedulingEligibility == "eligible"',
  ineligible: 'SchedulingEligibility == "ineligible"',
  draining: 'Drain == true',
  initializing: 'Status == "initializing"',
  disconnected: 'Status == "disconnected"',
  down: 'Status == "down"',
} as const
export type NodeStateName = keyof typeof NODE_FILTERS

// The table has the keys of the type; Object.keys only forgets that.
export const NODE_STATES = Object.keys(NODE_FILTERS) as readonly NodeStateName[]

/** Builds a filter: plain text matches names, expressions are passed through. */
export function nodeFilter(text: string, state: NodeStateName | undefined): string | undefined {
  const isExpression = /[=<>]|\b(?:contains|matches|in|is|not)\b/.test(text)
  const byName = isExpression ? `(${text})` : `Name contains ${JSON.stringify(text)}`
  const parts = [
    ...(text === '' ? [] : [byName]),
    ...(state === undefined ? [] : [NODE_FILTERS[state]]),
  ]
  return parts.length === 0 ? undefined : parts.join(' and ')
}

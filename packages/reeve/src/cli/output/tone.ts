import type { TextStyle } from './style.ts'

/** Styles of the states of both APIs; unknown states are bold. */
const STATUS_STYLES: Readonly<Record<string, TextStyle>> = {
  running: 'good',
  ready: 'good',
  complete: 'dim',
  successful: 'good',
  healthy: 'good',
  success: 'good',
  eligible: 'good',
  alive: 'good',
  pending: 'warning',
  blocked: 'warning',
  paused: 'warning',
  unknown: 'warning',
  disconnected: 'warning',
  initializing: 'warning',
  ineligible: 'warning',
  draining: 'warning',
  failed: 'bad',
  failing: 'bad',
  degraded: 'warning',
  deploying: 'warning',
  scheduled: 'dim',
  stopped: 'dim',
  stopping: 'dim',
  replaced: 'dim',
  failure: 'bad',
  lost: 'bad',
  down: 'bad',
  unhealthy: 'bad',
  dead: 'dim',
  canceled: 'dim',
  cancelled: 'dim',
}

export function statusStyle(state: string): TextStyle {
  return STATUS_STYLES[state] ?? 'strong'
}

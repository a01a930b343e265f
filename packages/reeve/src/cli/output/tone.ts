import type { Tone } from './style.ts'

/** How the states of both APIs stand out; an unknown one does not. */
const TONES: Readonly<Record<string, Tone>> = {
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

export function toneOf(state: string): Tone {
  return TONES[state] ?? 'strong'
}

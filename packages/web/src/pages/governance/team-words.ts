import { v2 } from '@reeve/contract'

export const VISIBILITIES = v2.TEAM_VISIBILITIES
export type Visibility = (typeof VISIBILITIES)[number]

export const VISIBILITY_TEXTS: Readonly<Record<Visibility, string>> = {
  secret: 'its members',
  organization: 'everyone in the organization',
}

/** `manage-policies` as people say it. */
export function wordsOf(name: string): string {
  const words = name.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

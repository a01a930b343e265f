import { v2 } from '@reeve/contract'

export const VISIBILITIES = v2.TEAM_VISIBILITIES
export type Visibility = (typeof VISIBILITIES)[number]

export const VISIBILITY_TEXTS: Readonly<Record<Visibility, string>> = {
  secret: 'its members',
  organization: 'organization',
}

/** Returns the label of a permission such as `manage-policies`. */
export function permissionLabel(name: string): string {
  const text = name.replaceAll('-', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

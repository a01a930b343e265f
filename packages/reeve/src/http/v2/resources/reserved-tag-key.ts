import type { v2 } from '@reeve/contract'
import type { SeenTagKey } from '../../../governance/index.ts'
import { timeText, toOne } from './links.ts'

export function reservedTagKeyResource({ tagKey, organization }: SeenTagKey): v2.ReservedTagKey {
  return {
    id: tagKey.id,
    type: 'reserved-tag-keys',
    attributes: {
      key: tagKey.key,
      'disable-overrides': tagKey.disableOverrides,
      'created-at': timeText(tagKey.createdMs),
      'updated-at': timeText(tagKey.updatedMs),
    },
    relationships: { organization: toOne('organizations', organization.name) },
  }
}

import type { v2 } from '@reeve/contract'
import type { VisibleTagKey } from '../../../governance/index.ts'
import { formatTime, toOne } from './links.ts'

export function reservedTagKeyResource({ tagKey, organization }: VisibleTagKey): v2.ReservedTagKey {
  return {
    id: tagKey.id,
    type: 'reserved-tag-keys',
    attributes: {
      key: tagKey.key,
      'disable-overrides': tagKey.disableOverrides,
      'created-at': formatTime(tagKey.createdMs),
      'updated-at': formatTime(tagKey.updatedMs),
    },
    relationships: { organization: toOne('organizations', organization.name) },
  }
}

import { join } from 'node:path'

/**
 * The directory of this installation. Files that come with it are named from here and from nowhere
 * else: a bundle lies as deep in `packages/reeve` as this source does (decision 0098), but other
 * sources lie deeper.
 */
export const PRODUCT_ROOT = join(import.meta.dirname, '../../../..')

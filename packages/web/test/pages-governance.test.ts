import { isGoverning } from './addresses.ts'
import { walkPages } from './walk.ts'

// The other half is in pages-cluster.test.ts.
walkPages(isGoverning)
